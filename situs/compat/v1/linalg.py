"""``tf.compat.v1.linalg``."""

from situs.compat.v1.door import open_door as _open_door
from situs.ops.array import matrix_transpose as matrix_transpose
from situs.ops.array import matrix_transpose as transpose
from situs.ops.contract import einsum as einsum
from situs.ops.contract import tensordot as tensordot
from situs.ops.decompose import cholesky as cholesky
from situs.ops.decompose import cholesky_solve as cholesky_solve
from situs.ops.decompose import det as det
from situs.ops.decompose import eig as eig
from situs.ops.decompose import eigh as eigh
from situs.ops.decompose import eigvals as eigvals
from situs.ops.decompose import eigvalsh as eigvalsh
from situs.ops.decompose import expm as expm
from situs.ops.decompose import inv as inv
from situs.ops.decompose import logdet as logdet
from situs.ops.decompose import lstsq as lstsq
from situs.ops.decompose import lu as lu
from situs.ops.decompose import matrix_rank as matrix_rank
from situs.ops.decompose import pinv as pinv
from situs.ops.decompose import qr as qr
from situs.ops.decompose import slogdet as slogdet
from situs.ops.decompose import solve as solve
from situs.ops.decompose import svd as svd
from situs.ops.decompose import triangular_solve as triangular_solve
from situs.ops.diagonal import band_part as band_part
from situs.ops.diagonal import diag as diag
from situs.ops.diagonal import diag_part as diag_part
from situs.ops.diagonal import eye as eye
from situs.ops.diagonal import set_diag as set_diag
from situs.ops.diagonal import tensor_diag as tensor_diag
from situs.ops.diagonal import tensor_diag_part as tensor_diag_part
from situs.ops.diagonal import trace as trace
from situs.ops.linalg import adjoint as adjoint
from situs.ops.linalg import cross as cross
from situs.ops.linalg import matmul as matmul
from situs.ops.linalg import matvec as matvec
from situs.ops.nn.normalize import l2_normalize as l2_normalize
from situs.ops.norms import global_norm as global_norm
from situs.ops.norms import norm_v1 as norm
from situs.ops.norms import normalize as normalize

_open_door(globals())
