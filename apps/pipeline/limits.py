"""The limits of what comes in, in one place: the API's documentation and the error messages read them here."""

from __future__ import annotations

MAX_API_BODY_BYTES = 13 * 1024 * 1024
MAX_BATCH = 1_000
MAX_EXTERNAL_ID_CHARACTERS = 200
MAX_GROUP_CHARACTERS = 200
MAX_STATE_BYTES = 1024 * 1024
TEXT_FACTOR, SHORT_TEXT_CHARACTERS = 16, 64 * 1024
"""A JSON state may be so many times its size when people read it, each value with its path; short ones any."""
MAX_DEPTH = 50
FIRST_YEAR, LAST_YEAR = 1970, 2199
MAX_METADATA_BYTES = 64 * 1024
MAX_METADATA_KEYS = 100
MAX_PRIORITY = 1_000_000
MAX_IMAGES = 4
MAX_KEPT_IMAGES = 20
"""Of one item, pages of PDFs included; a model reads MAX_IMAGES of them."""
MAX_IMAGE_BYTES = 4 * 1024 * 1024
MAX_IMAGE_PIXELS = 16_000_000
MAX_IMAGE_SIDE = 16_383
"""What a browser shows and WebP can hold."""
MAX_PDF_PAGES = 4
"""A page becomes an image of the item, and a model reads four."""
MAX_MAIL_BYTES = 35 * 1024 * 1024
MAX_MAIL_PARTS = 200
MAX_MAIL_DEPTH = 30
MAX_IMPORT_FILE_BYTES = 200 * 1024 * 1024
MAX_IMPORT_COLUMNS = 500
MAX_COLUMN_NAME_CHARACTERS = 1_000
MAX_IMPORT_ROW_CHARACTERS = 8 * 1024 * 1024
MAX_IMPORT_ROW_LINES = 50_000
MAX_UPLOADS_AT_ONCE = 20
MAX_OPEN_UPLOADS = 100
"""Of a workflow: those that are neither imported nor cancelled lie in the database whole."""
MAX_UPLOAD_REFUSALS = 100_000
"""A pass over a file stops there: nobody reads more, and something else is wrong."""
MAX_MAIL_TEXT_CHARACTERS = 4 * 1024 * 1024
"""Of a mail's text and of its HTML so much is kept for people; the model's share is MAX_STATE_BYTES."""
MAX_MEDIA_BYTES = 16 * 1024 * 1024
"""Of a picture or document fetched from WhatsApp."""
MAX_TRIAL_EXAMPLES = 2_000
MAX_TRIAL_FILE_BYTES = 20 * 1024 * 1024
MAX_TRIAL_STATE_CHARACTERS = 200_000
"""A model takes 256,000 bytes with the questions; what is longer could not be asked."""
