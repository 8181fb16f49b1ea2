"""What a question can be about."""

from __future__ import annotations

from symamp.mechanisms.mechanism import Mechanism
from symamp.mechanisms.pure_ldp import PureLDP

Subject = Mechanism | PureLDP
