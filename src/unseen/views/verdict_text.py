"""Shim until the verdict's words move here."""

from unseen.insight.summary import Summary
from unseen.insight.verdict import Verdict


def verdict_text(summary: Summary) -> Verdict:
    return summary.verdict
