"""What can be in the way of a change to policies; each says who or what was faster.

Conflict
├── NotADraft              the version was activated, or is gone: it cannot be edited, activated or discarded
├── ChangedMeanwhile       the draft is not what the person was looking at
├── BasedOnAnother         another version became active after the draft was made from its predecessor
└── NothingToGoBackTo      no version was active before this one
"""

from __future__ import annotations

from apps.core.errors import Conflict


class NotADraft(Conflict):
    pass


class ChangedMeanwhile(Conflict):
    pass


class BasedOnAnother(Conflict):
    pass


class NothingToGoBackTo(Conflict):
    pass
