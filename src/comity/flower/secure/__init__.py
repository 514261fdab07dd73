"""Sums over clients of which the coordinator sees no single term: the protocol SecAgg+ of Flower.

A sum takes four exchanges: clients make keys (setup); they share secrets among each other, encrypted, by way of the
coordinator (share keys); they give their answers under masks that cancel in the sum (collect masked vectors); and those
who are still there help to take away the masks that did not cancel (unmask).

Flower's own are the client's side of all exchanges but the third (`flwr.client.mod.secaggplus_mod`, with its state, its
checks and the names of its records), the key agreement, the encryption and the shares of secrets. Ours are:

- the coordinator's side (`SecureSum`), as Flower's needs a legacy strategy, cannot do without a client that is lost
  before it has shared its keys, and believes every share that it is given;
- the masks (`masks`), as Flower's generator uses 32 bits of a key, which can all be tried;
- whole numbers for real ones (`fixed_point`), as Flower's are of 32 bits and clip in silence;
- with these, the third exchange of the client's side, and what a client checks before it takes part (`answering`).
"""

from comity.flower.secure.answering import answer_securely
from comity.flower.secure.fixed_point import FixedPoint
from comity.flower.secure.summing import SecureSum, SecureTotal
from comity.flower.secure.terms import Terms

__all__ = ["FixedPoint", "SecureSum", "SecureTotal", "Terms", "answer_securely"]
