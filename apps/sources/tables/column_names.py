"""What columns are called where items are exported, the surest names first, written as `plain` writes them."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_NOT_LETTERS = re.compile(r"[\W_]+")


@lru_cache(maxsize=1024)
def plain(name: str) -> str:
    """A name without what differs between programs: case, accents, spaces and punctuation."""
    bare = "".join(each for each in unicodedata.normalize("NFKD", name) if not unicodedata.combining(each))
    return _NOT_LETTERS.sub("", unicodedata.normalize("NFC", bare).casefold())


def _names(text: str) -> tuple[str, ...]:
    return tuple(plain(each) for each in text.split())


IDS = _names(
    "external_id id ticket_id ticket_number ticket_no case_id case_number case_no issue_id message_id item_id "
    "record_id document_id request_id order_id uuid guid key issue_key ticket reference ref number no nr num "
    # German, French, Spanish, Portuguese, Italian, Dutch, Polish, Turkish
    "ticketnummer ticketnr vorgangsnummer fallnummer kennung nummer identifiant numéro référence identificador "
    "número folio numero codice identificativo nummer numer identyfikator kayıtno numara "
    # Russian, Arabic, Persian, Hebrew, Chinese, Japanese, Korean
    "идентификатор номер код المعرف معرف رقمالتذكرة رقمالطلب الرقم رقم شناسه شماره מזהה מספר "
    "编号 編號 工单号 单号 序号 番号 管理番号 受付番号 번호 아이디"
)
TEXTS = _names(
    "body text message content description comment comments feedback review question query inquiry request "
    "tweet post utterance sentence details note notes remark remarks answer response "
    "nachricht inhalt beschreibung kommentar anfrage anliegen mitteilung bemerkung message texte contenu "
    "commentaire demande avis mensaje texto contenido descripción comentario consulta mensagem conteúdo descrição "
    "comentário messaggio testo contenuto descrizione commento richiesta bericht tekst inhoud beschrijving "
    "opmerking wiadomość treść opis komentarz mesaj metin açıklama yorum "
    "текст сообщение описание комментарий обращение содержание отзыв النص نص الرسالة رسالة الوصف وصف المحتوى محتوى "
    "التعليق تعليق متن پیام توضیحات טקסט הודעה תוכן תיאור 内容 內容 正文 文本 消息 描述 评论 留言 本文 メッセージ "
    "コメント お問い合わせ内容 내용 본문 메시지 설명 문의내용"
)
SUBJECTS = _names(
    "subject title summary headline betreff titel thema objet sujet titre asunto título assunto oggetto titolo "
    "onderwerp temat tytuł konu başlık тема заголовок الموضوع موضوع العنوان عنوان נושא כותרת 主题 主題 标题 標題 件名 "
    "タイトル 제목"
)
TIMES = _names(
    "received_at received date_received received_on created_at created created_on date_created creation_date "
    "sent_at sent date_sent submitted_at submitted opened_at opened timestamp datetime date_time date time "
    "eingegangen eingang eingangsdatum empfangen erstellt erstelltam erstellungsdatum datum zeitpunkt "
    "date_de_réception reçu_le date_de_création créé_le fecha fecha_de_creación recibido data data_de_criação "
    "data_ricezione ontvangen aangemaakt utworzono tarih "
    "дата датасоздания создано получено التاريخ تاريخ تاريخالإنشاء تاريخالاستلام تاریخ תאריך 日期 时间 時間 创建时间 "
    "提交时间 日時 受付日時 作成日時 날짜 일시 작성일 접수일"
)
GROUPS = _names(
    "group group_key thread thread_id conversation conversation_id chat_id session_id "
    "gruppe konversation unterhaltung fil_de_discussion conversación conversa conversazione "
    "цепочка беседа диалог المحادثة محادثة שיחה 会话 會話 对话 スレッド 대화"
)
PRIORITIES = _names(
    "priority prio priorität priorité prioridad prioridade priorità prioriteit priorytet öncelik приоритет "
    "الأولوية أولوية اولویت עדיפות 优先级 優先級 優先度 우선순위"
)
