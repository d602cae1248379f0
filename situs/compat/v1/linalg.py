"""``tf.linalg`` of TensorFlow 1: functions add to the default graph."""

# Written by scripts/write_api.py: edit what the engine exports instead.

from situs._src.ops.array import matrix_transpose as matrix_transpose
from situs._src.ops.array import matrix_transpose as transpose
from situs._src.ops.contract import einsum as einsum
from situs._src.ops.contract import tensordot as tensordot
from situs._src.ops.decompose import cholesky as cholesky
from situs._src.ops.decompose import cholesky_solve as cholesky_solve
from situs._src.ops.decompose import det as det
from situs._src.ops.decompose import eig as eig
from situs._src.ops.decompose import eigh as eigh
from situs._src.ops.decompose import eigvals as eigvals
from situs._src.ops.decompose import eigvalsh as eigvalsh
from situs._src.ops.decompose import expm as expm
from situs._src.ops.decompose import inv as inv
from situs._src.ops.decompose import logdet as logdet
from situs._src.ops.decompose import lstsq as lstsq
from situs._src.ops.decompose import lu as lu
from situs._src.ops.decompose import matrix_rank as matrix_rank
from situs._src.ops.decompose import pinv as pinv
from situs._src.ops.decompose import qr as qr
from situs._src.ops.decompose import slogdet as slogdet
from situs._src.ops.decompose import solve as solve
from situs._src.ops.decompose import svd as svd
from situs._src.ops.decompose import triangular_solve as triangular_solve
from situs._src.ops.diagonal import band_part as band_part
from situs._src.ops.diagonal import diag as diag
from situs._src.ops.diagonal import diag_part as diag_part
from situs._src.ops.diagonal import eye as eye
from situs._src.ops.diagonal import set_diag as set_diag
from situs._src.ops.diagonal import tensor_diag as tensor_diag
from situs._src.ops.diagonal import tensor_diag_part as tensor_diag_part
from situs._src.ops.diagonal import trace as trace
from situs._src.ops.linalg import adjoint as adjoint
from situs._src.ops.linalg import cross as cross
from situs._src.ops.linalg import matmul as matmul
from situs._src.ops.linalg import matvec as matvec
from situs._src.ops.linear_operators import LinearOperator as LinearOperator
from situs._src.ops.linear_operators import LinearOperatorDiag as LinearOperatorDiag
from situs._src.ops.linear_operators import LinearOperatorFullMatrix as LinearOperatorFullMatrix
from situs._src.ops.linear_operators import LinearOperatorIdentity as LinearOperatorIdentity
from situs._src.ops.linear_operators import LinearOperatorLowerTriangular as LinearOperatorLowerTriangular
from situs._src.ops.linear_operators import LinearOperatorScaledIdentity as LinearOperatorScaledIdentity
from situs._src.ops.nn.normalize import l2_normalize as l2_normalize
from situs._src.ops.norms import global_norm as global_norm
from situs._src.ops.norms import norm_v1 as norm
from situs._src.ops.norms import normalize as normalize
from situs._src.v1.frontend import build_graphs as _build_graphs

_build_graphs(globals())
