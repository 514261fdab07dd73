"""Sums over clients in which the coordinator sees no single client's answer: Flower's protocol SecAgg+.

A sum takes four exchanges. Clients make keys (setup); they share secrets with each other, encrypted, through the
coordinator (share keys); they send their answers under masks that cancel in the sum (collect masked vectors); and the
clients that are left help to remove the masks that did not cancel (unmask).

Flower provides the client's side of all exchanges but the third (`flwr.client.mod.secaggplus_mod`), the key agreement,
the encryption and the shares of secrets; docs/secure-aggregation.md says why the rest is comity's own.
"""

from comity.flower.secure.fixed_point import FixedPoint
from comity.flower.secure.participant import answer_securely
from comity.flower.secure.secure_sum import SecureSum, SecureTotal
from comity.flower.secure.terms import Terms

__all__ = ["FixedPoint", "SecureSum", "SecureTotal", "Terms", "answer_securely"]
