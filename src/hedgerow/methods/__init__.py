"""Stage 7, the names people know: a criterion, a partition and a form composed, audited, returned or raised."""

from hedgerow.methods.anatomy import Anatomy
from hedgerow.methods.ke_anonymity import KEAnonymity
from hedgerow.methods.method import Method
from hedgerow.methods.permutation_anonymization import PermutationAnonymization
from hedgerow.methods.property_walk import PropertyWalk
from hedgerow.methods.robust import Robust

__all__ = ["Anatomy", "KEAnonymity", "Method", "PermutationAnonymization", "PropertyWalk", "Robust"]
