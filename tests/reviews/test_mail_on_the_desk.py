from __future__ import annotations

from apps.accounts.models import User
from apps.items.models import ItemContent
from apps.reviews.content import Header
from apps.workflows.models import Workflow
from tests.conftest import SignIn
from tests.factories import make_task
from tests.reviews.came_rows import HEADERS, drawn, give_mail, give_pictures
from tests.reviews.desk_forms import HTMX, open_desk

PARTS = [
    {"kind": "body", "text": "Where is my order?"},
    {"kind": "quoted", "text": "> We have sent it."},
    {"kind": "signature", "text": "-- \nAnn"},
]


def test_it_works(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    give_mail(make_task(workflow).item, parts=PARTS)
    page = open_desk(signed_in(rosa))
    assert (
        page.index("<bdi>Ann Example</bdi> <bdi>&lt;ann@example.com&gt;</bdi>")
        < page.index("My order")
        < page.index("Where is my order?")
    )
    assert "Reply to" not in page
    assert "As sent" not in page


def test_what_the_model_did_not_read_says_so(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    item = make_task(workflow).item
    give_mail(item, parts=PARTS)
    ItemContent.objects.filter(item=item).update(text="body: Where is my order?\n\n-- \nAnn")
    page = open_desk(signed_in(rosa))
    assert "Earlier mail, quoted <span" in page
    assert "Signature</summary>" in page
    assert page.count("not read by the model") == 1


def test_an_answer_that_would_go_elsewhere_is_marked(
    signed_in: SignIn, rosa: User, workflow: Workflow
) -> None:
    item = make_task(workflow).item
    give_mail(item, headers=[*HEADERS, ["Reply-To", "Ann <ann@elsewhere.example>"]])
    page = open_desk(signed_in(rosa))
    assert "<bdi>&lt;ann@elsewhere.example&gt;</bdi>" in page
    assert "an answer would go elsewhere" in page


def test_a_reply_to_the_sender_is_not_worth_a_line(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    item = make_task(workflow).item
    give_mail(item, headers=[*HEADERS, ["Reply-To", "Example <ANN@example.com>"]])
    assert "Reply to" not in open_desk(signed_in(rosa))


def test_a_name_that_is_another_address_is_marked(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    item = make_task(workflow).item
    sender = ["From", '"The Bank (safe@bank.example)" <x@elsewhere.example>']
    give_mail(item, headers=[sender, *HEADERS[1:]])
    assert "the name is another address" in open_desk(signed_in(rosa))


def test_repairs_and_files_are_listed(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    item = make_task(workflow).item
    ItemContent.objects.filter(item=item).update(repairs=["The charset was wrong; windows-1252 was guessed."])
    give_pictures(item, drawn(), note="of a fax", is_for_model=True)
    page = open_desk(signed_in(rosa))
    assert "Repaired:</strong> <bdi>The charset was wrong" in page
    assert "<bdi>page-1.png</bdi>" in page
    assert "for the model — <bdi>of a fax</bdi>" in page


def test_a_picture_alone_is_shown_large_at_once(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    item = make_task(workflow).item
    ItemContent.objects.filter(item=item).update(state="", text="")
    first, second = give_pictures(item, drawn("red"), drawn("blue"), is_for_model=True)
    page = open_desk(signed_in(rosa))
    assert (
        f'src="/w/leads/items/{item.pk}/images/{first.pk}/" width="300" height="200" loading="lazy"' in page
    )
    assert f"/images/{second.pk}/thumbnail/" in page
    assert "is-alone" in page


def test_an_icon_is_not_shown_large(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    give_pictures(make_task(workflow).item, drawn(size=(300, 20)))
    page = open_desk(signed_in(rosa))
    assert "page-1.png" in page
    assert "data-pictures" not in page


def test_the_frame_has_a_policy_of_its_own(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    item = make_task(workflow).item
    give_mail(item, html="<p>Hi</p><script>alert(1)</script>")
    answer = signed_in(rosa).get(f"/w/leads/items/{item.pk}/mail/frame/")
    policy = answer.headers["Content-Security-Policy"].split("; ")
    assert policy[:4] == ["sandbox", "default-src 'none'", "style-src 'unsafe-inline'", "img-src data:"]
    assert "frame-ancestors 'self'" in policy
    assert answer.headers["X-Frame-Options"] == "SAMEORIGIN"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["Cache-Control"] == "private, no-store"
    assert b"<script" not in answer.content


def test_remote_pictures_load_on_one_click(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    item = make_task(workflow).item
    give_mail(item, html="<img src=https://x.example/a.png><img src=https://x.example/b.png>")
    client, address = signed_in(rosa), f"/w/leads/items/{item.pk}/mail/"
    assert "Load 2 remote pictures" in client.get(address).content.decode()
    assert b"x.example" not in client.get(f"{address}frame/").content
    after = client.get(f"{address}?remote=1").content.decode()
    assert f'src="{address}frame/?remote=1"' in after
    frame = client.get(f"{address}frame/?remote=1")
    assert "img-src data: https: http:;" in frame.headers["Content-Security-Policy"]
    assert frame.content.count(b"x.example") == 2


def test_pictures_of_the_mail_are_embedded(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    item = make_task(workflow).item
    give_mail(item, html="<img src=cid:logo>" * 3)
    give_pictures(item, drawn(), content_id="logo")
    frame = signed_in(rosa).get(f"/w/leads/items/{item.pk}/mail/frame/").content
    assert frame.count(b'src="data:image/png;base64,iVBOR') == 3


def test_embedded_pictures_are_bounded(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    item = make_task(workflow).item
    give_mail(item, html="<img src=cid:logo>" * 40_000)
    give_pictures(item, drawn(size=(1000, 1000)), content_id="logo")
    frame = signed_in(rosa).get(f"/w/leads/items/{item.pk}/mail/frame/").content
    assert 11_000_000 < len(frame) < 14_000_000


def test_the_fragment_is_for_the_desk(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    item = make_task(workflow).item
    give_mail(item, html="<p>Hi</p>")
    client = signed_in(rosa)
    assert f'hx-get="/w/leads/items/{item.pk}/mail/"' in open_desk(client)
    headers = {**HTMX, "HX-Target": "mail-sent"}
    fragment = client.get(f"/w/leads/items/{item.pk}/mail/", headers=headers).content.decode()
    assert "<html" not in fragment
    assert 'sandbox="" referrerpolicy="no-referrer"' in fragment


def test_a_mail_without_html_has_no_frame(signed_in: SignIn, rosa: User, workflow: Workflow) -> None:
    item = make_task(workflow).item
    give_mail(item)
    assert signed_in(rosa).get(f"/w/leads/items/{item.pk}/mail/frame/").status_code == 404


def test_a_name_keeps_no_space_that_its_direction_would_carry_off() -> None:
    assert Header("From", "سلمى <salma@alnoor.example>").pieces == ["سلمى", "<salma@alnoor.example>"]
