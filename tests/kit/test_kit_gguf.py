"""Reading GGUF: the weights that the package `gguf` reads, rows in Hugging Face's order, damage reported in one line."""

import random
from collections.abc import Callable
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from torch.testing import assert_close

from course.kit import ModelError, ModelUnavailable, load_blocks, load_model, load_tokenizer, paths
from course.kit.models.gguf_file import GGUFFile
from course.kit.models.tokenizer import byte_symbols

HEADS, KV_HEADS, HEAD_DIM, WIDTH, WIDE, LAYERS = 4, 2, 16, 64, 96, 2
TYPES = gguf.GGMLQuantizationType


def permuted(weight: np.ndarray, num_heads: int) -> np.ndarray:
    """Rows as llama.cpp's converter stores them: within a head, row i and row i + Dh/2 become neighbours."""
    halves = weight.reshape(num_heads, 2, weight.shape[0] // num_heads // 2, weight.shape[1])
    return halves.swapaxes(1, 2).reshape(weight.shape)


def is_refused(load: Callable[[Path], object], path: Path, named: str) -> None:
    """One line that names what is wrong."""
    with pytest.raises(ModelError) as error:
        load(path)
    assert named in str(error.value)
    assert "\n" not in str(error.value)


def write_gguf(path: Path, model, *, kinds: tuple[TYPES, ...], skip: str = "", **metadata: object) -> None:
    """A transformers Llama as a small GGUF file; matrices take the quantized types in turn."""
    writer = gguf.GGUFWriter(path, str(metadata.pop("architecture", "llama")))
    writer.add_context_length(128)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(WIDE)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10_000.0)
    tokens = ["<|endoftext|>", *byte_symbols().values(), "he", "Ġt"]
    writer.add_tokenizer_model(str(metadata.pop("tokenizer", "gpt2")))
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([3] + [1] * (len(tokens) - 1))
    writer.add_token_merges(["h e", "Ġ t"])
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    extra = metadata.pop("tensor", None)
    if (added := metadata.pop("add", None)) is not None:
        kind = {bool: "bool", int: "uint32", float: "float32"}[type(added[1])]
        writer.kv_data[0].pop(added[0], None)
        getattr(writer, f"add_{kind}")(*added)
    for key in metadata.pop("lacks", ()):
        writer.kv_data[0].pop(key)
    if (merges := metadata.pop("merges", None)) is not None:
        writer.kv_data[0].pop("tokenizer.ggml.merges")
        writer.add_token_merges(merges)
    for key, value in metadata.items():
        writer.add_string(key.replace("__", "."), str(value))
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, LAYERS)
    state = {key: value.numpy() for key, value in model.state_dict().items()}
    for index, (key, value) in enumerate(sorted(state.items())):
        name = f"{names.get_name(key.removesuffix('.weight'))}.weight"
        if name == skip:
            continue
        if "q_proj" in key or "k_proj" in key:
            value = permuted(value, HEADS if "q_proj" in key else KV_HEADS)
        kind = kinds[index % len(kinds)] if value.ndim == 2 else TYPES.F32
        writer.add_tensor(name, gguf.quantize(value, kind), raw_dtype=kind)
    if extra is not None:
        writer.add_tensor(extra, np.ones(WIDTH, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture(scope="module")
def llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(5)
    config = LlamaConfig(
        vocab_size=259,
        hidden_size=WIDTH,
        intermediate_size=WIDE,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        max_position_embeddings=128,
        rms_norm_eps=1e-5,
        initializer_range=0.3,
        tie_word_embeddings=False,
    )
    return LlamaForCausalLM(config).eval()


@pytest.fixture
def file(llama, tmp_path: Path) -> Path:
    path = tmp_path / "small.gguf"
    write_gguf(path, llama, kinds=(TYPES.Q4_1, TYPES.Q8_0))
    return path


@torch.no_grad()
def test_unquantized_file_gives_the_logits_of_the_model_it_was_made_from(llama, tmp_path: Path):
    write_gguf(tmp_path / "exact.gguf", llama, kinds=(TYPES.F32,))
    ours = load_model(tmp_path / "exact.gguf")
    ids = torch.randint(259, (2, 40), generator=torch.Generator().manual_seed(1))
    assert_close(ours(ids), llama(input_ids=ids).logits, atol=1e-3, rtol=1e-5)
    assert (ours.config.name, ours.config.max_position_embeddings) == ("exact", 128)
    assert not ours.config.tie_word_embeddings


def test_without_output_weight_the_embeddings_are_tied(llama, tmp_path: Path):
    write_gguf(tmp_path / "tied.gguf", llama, kinds=(TYPES.F16,), skip="output.weight")
    ours = load_model(tmp_path / "tied.gguf")
    assert ours.config.tie_word_embeddings
    assert ours.weights.lm_head is ours.weights.embed_tokens


@pytest.mark.parametrize("kind", [TYPES.Q4_1, TYPES.Q8_0, TYPES.F16, TYPES.F32, TYPES.Q4_0, TYPES.Q5_1, TYPES.BF16])
def test_every_format_is_decoded_as_the_package_gguf_decodes_it(llama, tmp_path: Path, kind: TYPES):
    path = tmp_path / "one.gguf"
    write_gguf(path, llama, kinds=(kind,))
    ours = GGUFFile(path)
    for tensor in gguf.GGUFReader(path).tensors:
        want = gguf.dequantize(tensor.data, tensor.tensor_type)
        assert np.array_equal(ours.read(tensor.name).numpy(), want), tensor.name


def decoded(blocks: torch.Tensor) -> np.ndarray:
    kind = {20: TYPES.Q4_1, 34: TYPES.Q8_0}[blocks.shape[-1]]
    return gguf.dequantize(blocks.flatten(1).numpy(), kind)


def test_blocks_are_the_weights_before_they_are_decoded(file: Path):
    """Rows in Hugging Face's order, queries and keys too."""
    blocks, weights = load_blocks(file), load_model(file).weights
    assert {each.shape[-1] for each in blocks.values()} == {20, 34}
    assert len(blocks) == 7 * LAYERS + 2
    for key, each in blocks.items():
        layer, _, field = key.rpartition(".")
        want = getattr(weights.layers[int(layer.removeprefix("layers."))] if layer else weights, field)
        assert each.dtype == torch.uint8
        assert each.shape[:2] == (want.shape[0], want.shape[1] // 32)
        assert np.array_equal(decoded(each), want.numpy()), key
    blocks["embed_tokens"].zero_()  # memory of its own: the file stays as it is
    assert load_blocks(file)["embed_tokens"].any()


def test_what_is_not_in_blocks_is_left_out_or_named(llama, tmp_path: Path):
    write_gguf(tmp_path / "some.gguf", llama, kinds=(TYPES.F16, TYPES.Q8_0), skip="output.weight")
    blocks = load_blocks(tmp_path / "some.gguf")
    assert 0 < len(blocks) < 7 * LAYERS + 1
    assert {each.shape[-1] for each in blocks.values()} == {34}
    assert "lm_head" not in blocks
    with pytest.raises(ModelError, match=r"attn_norm\.weight .* not in blocks"):
        GGUFFile(tmp_path / "some.gguf").blocks("blk.0.attn_norm.weight")
    with pytest.raises(ModelError, match="tiny is stored as float weights"):
        load_blocks("tiny")


def test_blocks_of_a_smollm2_that_is_not_there(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setattr(paths, "SMOLLM2", tmp_path / "absent.gguf")
    with pytest.raises(ModelUnavailable, match=r"python -m course\.kit\.fetch"):
        load_blocks("smollm2")
    assert load_blocks("smollm2", missing="none") is None
    assert "make lab" in capsys.readouterr().out


@pytest.mark.skipif(not paths.SMOLLM2.is_file(), reason="SmolLM2 is not on this machine; `python -m course.kit.fetch` fetches it")
def test_blocks_of_smollm2_by_format():
    """210 matrices in 4-bit blocks, and the embeddings, which are the head too, in 8-bit ones."""
    sizes: dict[int, list[int]] = {}
    for each in load_blocks("smollm2").values():
        sizes.setdefault(each.shape[-1], []).append(each.nbytes)
    assert {size: (len(nbytes), sum(nbytes)) for size, nbytes in sizes.items()} == {20: (210, 66_355_200), 34: (1, 30_081_024)}


def test_metadata_is_what_the_package_gguf_reads(file: Path):
    ours = GGUFFile(file).metadata
    for key, field in gguf.GGUFReader(file).fields.items():
        if not key.startswith("GGUF."):
            assert ours[key] == field.contents(), key


def test_tokenizer_of_the_file(file: Path):
    tokenizer = load_tokenizer(file)
    assert tokenizer.encode("the<|endoftext|> t") == [tokenizer.vocab["t"], 257, 0, 258]
    assert tokenizer.decode([257, 258, 0]) == "he t<|endoftext|>"
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id) == (0, 0)
    assert load_model(file).tokenizer.vocab == tokenizer.vocab


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"architecture": "gemma"}, "'gemma'"),
        ({"llama__rope__scaling__type": "yarn"}, "'yarn'"),
        ({"skip": "blk.1.attn_k.weight"}, "blk.1.attn_k.weight is not in"),
        ({"add": ("llama.attention.sliding_window", 16)}, "sees the last 16 tokens only"),
        ({"add": ("llama.logit_scale", 0.5)}, "llama.logit_scale is 0.5"),
        ({"add": ("llama.final_logit_softcapping", 30.0)}, "llama.final_logit_softcapping is 30.0"),
        ({"add": ("llama.attention.causal", False)}, "llama.attention.causal is False"),
        ({"add": ("split.count", 2)}, "this is part 1 of 2, the kit reads a model in one file; join them"),
        ({"add": ("tokenizer.ggml.eos_token_id", 99_999)}, "eos_token_id is 99999, but there are"),
        ({"tensor": "blk.0.attn_q_norm.weight"}, "tensor blk.0.attn_q_norm.weight is not part of a plain Llama model"),
        ({"tensor": "blk.7.attn_q.weight"}, "tensor blk.7.attn_q.weight is not part"),
        ({"tensor": "blk.0.attn_q.bias"}, "tensor blk.0.attn_q.bias is not part"),
        ({"tensor": "rope_freqs.weight"}, "tensor rope_freqs.weight is not part"),
    ],
)
def test_what_the_kit_does_not_run_is_named(llama, tmp_path: Path, change: dict, named: str):
    write_gguf(tmp_path / "x.gguf", llama, kinds=(TYPES.F32,), **change)
    is_refused(load_model, tmp_path / "x.gguf", named)


def test_an_unknown_tokenizer_does_not_stop_the_model(llama, tmp_path: Path):
    write_gguf(tmp_path / "x.gguf", llama, kinds=(TYPES.F32,), tokenizer="llama")
    model = load_model(tmp_path / "x.gguf")
    with pytest.raises(ModelError, match=r"tokenizer \('llama'.*folder with its tokenizer\.json"):
        _ = model.tokenizer


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"lacks": ["tokenizer.ggml.merges"]}, "has no tokenizer.ggml.merges"),
        ({"lacks": ["tokenizer.ggml.tokens"]}, "has no tokenizer.ggml.tokens"),
        ({"merges": ["q z zz"]}, "merge 'q z zz' is not of its tokens"),
        ({"merges": ["h q"]}, "merge 'h q' is not of its tokens"),
        ({"add": ("tokenizer.ggml.add_bos_token", True)}, "puts BOS before every text, the kit's adds nothing"),
        ({"add": ("tokenizer.ggml.add_eos_token", True)}, "puts EOS after every text"),
    ],
)
def test_what_a_tokenizer_lacks_or_does_otherwise_is_named(llama, tmp_path: Path, change: dict, named: str):
    write_gguf(tmp_path / "x.gguf", llama, kinds=(TYPES.F32,), **change)
    is_refused(load_tokenizer, tmp_path / "x.gguf", named)


def test_a_file_without_types_of_tokens_has_plain_ones(llama, tmp_path: Path):
    write_gguf(tmp_path / "x.gguf", llama, kinds=(TYPES.F32,), lacks=["tokenizer.ggml.token_type"])
    tokenizer = load_tokenizer(tmp_path / "x.gguf")
    assert tokenizer.encode("the") == [tokenizer.vocab["t"], 257]
    assert tokenizer.special_tokens == {}


def test_a_file_for_big_endian_machines_is_not_called_damaged(file: Path):
    whole = file.read_bytes()
    file.write_bytes(whole[:4] + whole[4:8][::-1] + whole[8:])
    with pytest.raises(ModelError, match="is written for big-endian machines, the kit reads little-endian files"):
        load_model(file)


def test_a_file_cut_anywhere_is_damaged_and_says_how_to_mend_it(file: Path, tmp_path: Path):
    whole = file.read_bytes()
    copy = tmp_path / "cut.gguf"
    for length in [0, 3, 4, 11, 100, 1000, len(whole) // 3, len(whole) // 2, len(whole) - 1]:
        copy.write_bytes(whole[:length])
        with pytest.raises(ModelError, match="fetch it again") as error:
            load_model(copy)
        assert "\n" not in str(error.value)
        assert str(copy) in str(error.value)


def test_bad_magic_and_version_are_named(file: Path):
    whole = file.read_bytes()
    file.write_bytes(b"GGML" + whole[4:])
    with pytest.raises(ModelError, match="is not a GGUF file"):
        load_model(file)
    file.write_bytes(whole[:4] + b"\x09" + whole[5:])
    with pytest.raises(ModelError, match="is GGUF of version 9, the kit reads 2 and 3"):
        load_model(file)


def test_a_header_with_wrong_bytes_never_gives_another_kind_of_error(file: Path):
    """Born from flipped bytes that gave struct.error, RecursionError and endless loops in readers of this format."""
    whole = file.read_bytes()
    header = len(whole) - sum(tensor.num_bytes for tensor in GGUFFile(file).tensors.values())
    rng = random.Random(11)
    messages = []
    for _ in range(300):
        damaged = bytearray(whole)
        for _ in range(rng.choice([1, 2, 8])):
            damaged[rng.randrange(4, header)] = rng.randrange(256)
        file.write_bytes(damaged)
        try:
            load_model(file)
        except ModelError as error:
            messages.append(str(error))
    assert len(messages) > 100
    assert not [message for message in messages if "\n" in message]
