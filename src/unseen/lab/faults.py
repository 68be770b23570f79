"""What a request can be refused for, beside settings that cannot be."""

from unseen.errors import UnseenError


class NotThereError(UnseenError):
    """What was asked for is not here."""


class BusyError(UnseenError):
    """There is a training under way."""


class WrongTypeError(UnseenError):
    """A body that is not said to be JSON."""
