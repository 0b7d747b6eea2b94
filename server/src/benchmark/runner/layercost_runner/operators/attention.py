"""Attention and rotary embedding, which newer operator sets have as one operator."""

from __future__ import annotations

import math
from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor

from .call import Call, Unsupported, operator


@operator("Attention")
def attention(call: Call) -> Tensor:
    """ONNX Operators, Attention-23, without a cache of past keys and without soft cap."""
    query, key, value, mask = call[0], call[1], call[2], call.get(3)
    if call.get(4) is not None or call.get(5) is not None or call.wants(1) or call.wants(2) or call.wants(3):
        raise Unsupported("Attention with past keys and values")
    if call.attribute("softcap", 0.0):
        raise Unsupported("Attention with softcap")
    flat = query.dim() == 3
    if flat:
        query = _heads(query, call.attribute("q_num_heads"))
        key = _heads(key, call.attribute("kv_num_heads"))
        value = _heads(value, call.attribute("kv_num_heads"))
    groups = query.shape[1] // key.shape[1]
    if groups > 1:
        key, value = key.repeat_interleave(groups, dim=1), value.repeat_interleave(groups, dim=1)
    y = _scaled_dot_product(
        query, key, value, mask, bool(call.attribute("is_causal", 0)), call.attribute("scale"), 0.0
    )
    return y.transpose(1, 2).flatten(2) if flat else y


@operator("ScaledDotProductAttention", domain="layercost")
def scaled_dot_product_attention(call: Call) -> Tensor:
    """`torch.nn.functional.scaled_dot_product_attention`; `key` says how keys lie (`composedCalls.ts`)."""
    query, key, value = call[0], call[1], call[2]
    layout = call.attribute("key", "like-queries")
    if layout == "by-tokens":
        key = key.transpose(1, 2)
    elif layout == "transposed":
        key = key.transpose(-2, -1)
    elif layout == "folded":
        key = key.unflatten(0, value.shape[:2])
    if query.dim() == 4 and query.shape[1] != key.shape[1]:
        groups = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(groups, dim=1), value.repeat_interleave(groups, dim=1)
    return _scaled_dot_product(
        query,
        key,
        value,
        call.get(3),
        bool(call.attribute("is_causal", 0)),
        call.attribute("scale"),
        call.attribute("dropout_p", 0.0) if call.plan.training else 0.0,
    )


@operator("RotaryEmbedding")
def rotary_embedding(call: Call) -> Tensor:
    """ONNX Operators, RotaryEmbedding-23."""
    x, cosine, sine = call[0], call[1], call[2]
    positions = call.get(3)
    flat = x.dim() == 3
    if flat:
        x = _heads(x, call.attribute("num_heads"))
    if positions is not None:
        cosine, sine = cosine[positions.long()], sine[positions.long()]
    cosine, sine = cosine.unsqueeze(1), sine.unsqueeze(1)
    width = call.attribute("rotary_embedding_dim", 0) or x.shape[-1]
    turned, kept = x[..., :width], x[..., width:]
    if call.attribute("interleaved", 0):
        first, second = turned[..., 0::2], turned[..., 1::2]
    else:
        first, second = turned.chunk(2, dim=-1)
    parts = (first * cosine - second * sine, first * sine + second * cosine)
    y = torch.stack(parts, dim=-1).flatten(-2) if call.attribute("interleaved", 0) else torch.cat(parts, dim=-1)
    if kept.shape[-1]:
        y = torch.cat((y, kept), dim=-1)
    return y.transpose(1, 2).flatten(2) if flat else y


def _heads(x: Tensor, heads: Optional[int]) -> Tensor:
    """[batch, sequence, heads * size] → [batch, heads, sequence, size]"""
    if not heads:
        raise Unsupported("attention over three dimensions without a number of heads")
    return x.unflatten(-1, (heads, x.shape[-1] // heads)).transpose(1, 2)


def _scaled_dot_product(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Optional[Tensor],
    causal: bool,
    scale: Optional[float],
    dropout: float,
) -> Tensor:
    natural = 1 / math.sqrt(query.shape[-1])
    if scale is not None and abs(scale / natural - 1) <= 1e-6:
        scale = None
    fused = getattr(F, "scaled_dot_product_attention", None)
    if fused is not None:
        options = {"attn_mask": mask, "dropout_p": dropout, "is_causal": causal and mask is None}
        if scale is None:
            return fused(query, key, value, **options)
        if _has_scale:
            return fused(query, key, value, **options, scale=scale)
        return fused(query * (scale / natural), key, value, **options)
    # torch 1.13 has no fused kernel: the same product, written out.
    scores = torch.matmul(query, key.transpose(-2, -1)) * (natural if scale is None else scale)
    if causal:
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(hidden, float("-inf"))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else scores + mask
    weights = F.dropout(torch.softmax(scores, dim=-1), dropout) if dropout else torch.softmax(scores, dim=-1)
    return torch.matmul(weights.to(value.dtype), value)


#: `scale` came with torch 2.1.
_has_scale = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 1)
