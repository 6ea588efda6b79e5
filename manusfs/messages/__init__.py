"""The Messages API as manusfs uses it: shapes, and the validator that is the last gate before a send."""

from manusfs.messages.types import Block, Delta, Message, Model, Profile, Reply, Request, StopReason, Usage
from manusfs.messages.validate import validate

__all__ = ["Block", "Delta", "Message", "Model", "Profile", "Reply", "Request", "StopReason", "Usage", "validate"]
