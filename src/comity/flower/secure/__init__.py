"""Sums over clients in which the coordinator sees no single client's answer: Flower's protocol SecAgg+.

A sum takes four exchanges. Clients make keys (setup); they share secrets with each other, encrypted, through the
coordinator (share keys); they send their answers under masks that cancel in the sum (collect masked vectors); and the
clients that are left help to remove the masks that did not cancel (unmask).

Flower provides the client's side of all exchanges but the third (`flwr.client.mod.secaggplus_mod`, with its state, its
checks and the names of its records), the key agreement, the encryption and the shares of secrets. comity adds:

- the coordinator's side (`SecureSum`): Flower's needs a legacy strategy, fails if a client is lost before it has shared
  its keys, and accepts every share without a check;
- the masks (`masks`): Flower's generator uses 32 bits of a key, which can be tried one by one;
- fixed-point numbers (`fixed_point`): Flower's have 32 bits and clip large values without an error;
- with these, the third exchange of the client's side, and the checks of a client before it takes part (`participant`).
"""

from comity.flower.secure.fixed_point import FixedPoint
from comity.flower.secure.participant import answer_securely
from comity.flower.secure.secure_sum import SecureSum, SecureTotal
from comity.flower.secure.terms import Terms

__all__ = ["FixedPoint", "SecureSum", "SecureTotal", "Terms", "answer_securely"]
