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
    y = _scaled_dot_product(query, key, value, mask, bool(call.attribute("is_causal", 0)), call.attribute("scale"))
    return y.transpose(1, 2).flatten(2) if flat else y


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
    query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor], causal: bool, scale: Optional[float]
) -> Tensor:
    natural = 1 / math.sqrt(query.shape[-1])
    fused = getattr(F, "scaled_dot_product_attention", None)
    if fused is not None:
        if scale is not None and abs(scale / natural - 1) > 1e-6:
            query = query * (scale / natural)
        return fused(query, key, value, attn_mask=mask, is_causal=causal and mask is None)
    # torch 1.13 has no fused kernel: the same product, written out.
    scores = torch.matmul(query, key.transpose(-2, -1)) * (natural if scale is None else scale)
    if causal:
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(hidden, float("-inf"))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else scores + mask
    return torch.matmul(torch.softmax(scores, dim=-1).to(value.dtype), value)
