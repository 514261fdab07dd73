"""The closed list of what may be asked of a client, and the answers: the whole wire.

To add a question, write its dataclass and that of its answer, and add a line to `QUESTIONS`.
"""

from comity.questions.arrays import Floats, Tensors
from comity.questions.networks import (
    Found,
    Gradients,
    GradientsAnswer,
    HeldLosses,
    HeldLossesAnswer,
    JudgeModels,
    LocalSteps,
    LocalStepsAnswer,
    SearchFront,
    TrainAlone,
    TrainAloneAnswer,
    TrainedLocally,
    TrainLocally,
)
from comity.questions.tables import (
    Describe,
    Description,
    Evaluate,
    Evaluation,
    Expand,
    Expansion,
    FitAlone,
    FitAloneAnswer,
    JudgeLinear,
    Moments,
    MomentsAnswer,
    Slopes,
    SlopesAnswer,
    Split,
)
from comity.questions.trust import PrivacyTold, TellPrivacy
from comity.questions.wire import QUESTIONS, RECORDS, Packed, pack, unpack

__all__ = [
    "QUESTIONS",
    "RECORDS",
    "Describe",
    "Description",
    "Evaluate",
    "Evaluation",
    "Expand",
    "Expansion",
    "FitAlone",
    "FitAloneAnswer",
    "Floats",
    "Found",
    "Gradients",
    "GradientsAnswer",
    "HeldLosses",
    "HeldLossesAnswer",
    "JudgeLinear",
    "JudgeModels",
    "LocalSteps",
    "LocalStepsAnswer",
    "Moments",
    "MomentsAnswer",
    "Packed",
    "PrivacyTold",
    "SearchFront",
    "Slopes",
    "SlopesAnswer",
    "Split",
    "TellPrivacy",
    "Tensors",
    "TrainAlone",
    "TrainAloneAnswer",
    "TrainLocally",
    "TrainedLocally",
    "pack",
    "unpack",
]
