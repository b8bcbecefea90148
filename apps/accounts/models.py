from __future__ import annotations

from typing import ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone


class UserManager(BaseUserManager["User"]):
    def create_user(self, username: str, password: str | None = None, *, is_operator: bool = False) -> User:
        user = User(username=User.normalize_username(username), is_operator=is_operator)
        user.set_password(password)
        user.full_clean(exclude=["password"])
        user.save()
        return user

    def get_by_natural_key(self, username: str | None) -> User:
        return self.get(username__iexact=username or "")


class User(AbstractBaseUser):
    """A person. What they may do in a workflow is a Membership.

    `is_operator` opens health and counts, never content.
    """

    username = models.CharField(max_length=80, unique=True, validators=[UnicodeUsernameValidator()])
    email = models.EmailField(blank=True)
    is_active = models.BooleanField(default=True)
    is_operator = models.BooleanField(default=False)
    date_joined = models.DateTimeField(default=timezone.now)

    objects = UserManager()
    USERNAME_FIELD = "username"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        # Rosa and rosa are one person, whatever the keyboard did with the first letter.
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(Lower("username"), name="user_username_unique"),
        ]

    def __str__(self) -> str:
        return self.username
