"""x"""
from __future__ import annotations
from typing import Final
WEIGHTS: Final = """
bias -400
"""
