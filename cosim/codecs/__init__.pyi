from cosim.codecs.error_feedback import ErrorFeedback
from cosim.codecs.flat import FlatCodec
from cosim.codecs.half_precision import BFloat16, Float16
from cosim.codecs.kept import Kept, KeptNumber, KeptShare
from cosim.codecs.model_codec import ModelCodec
from cosim.codecs.port import Codec
from cosim.codecs.qsgd import Qsgd
from cosim.codecs.signs import Signs
from cosim.codecs.sparse import RandomK, TopK
from cosim.codecs.uncompressed import Uncompressed

__all__ = [
    "BFloat16",
    "Codec",
    "ErrorFeedback",
    "FlatCodec",
    "Float16",
    "Kept",
    "KeptNumber",
    "KeptShare",
    "ModelCodec",
    "Qsgd",
    "RandomK",
    "Signs",
    "TopK",
    "Uncompressed",
]
