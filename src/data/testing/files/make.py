#!/usr/bin/env python3
"""Makes the files that tests of src/data read, by the libraries that set the formats (zarr, numcodecs, tokenizers).

Usage: make.py        run it in a Python that has them: pip install zarr numcodecs tokenizers

Arrays hold a[i, j, …] = 100 i + 10 j + … (their flat index for one axis), so that tests need no second copy.
"""
import json
import random
import shutil
from pathlib import Path

import numcodecs
import numpy as np
import zarr
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

HERE = Path(__file__).resolve().parent


def numbers(shape, dtype):
    weights = [100, 10, 1] if len(shape) == 3 else [100, 1] if len(shape) == 2 else [1]
    return sum(w * i for w, i in zip(weights, np.indices(shape))).astype(dtype)


def v2(name, shape, chunks, dtype, compressor, values=None, **more):
    array = zarr.create_array(HERE / "zarr" / name, shape=shape, chunks=chunks, dtype=dtype, zarr_format=2,
                              compressors=compressor, **more)
    array[...] = numbers(shape, dtype) if values is None else values


def v3(name, shape, chunks, dtype, values=None, **more):
    array = zarr.create_array(HERE / "zarr" / name, shape=shape, chunks=chunks, dtype=dtype, zarr_format=3, **more)
    array[...] = numbers(shape, dtype) if values is None else values
    return array


def make_arrays():
    shutil.rmtree(HERE / "zarr", ignore_errors=True)
    from zarr import codecs
    v2("v2_raw", (5, 7), (2, 3), "<u2", None, order="F")
    v2("v2_big_endian_zlib", (5, 7), (2, 3), ">i4", numcodecs.Zlib(), chunk_key_encoding={"name": "v2", "separator": "/"})
    v2("v2_blosc", (4, 5, 6), (3, 2, 4), "<f4", numcodecs.Blosc(cname="lz4", shuffle=numcodecs.Blosc.SHUFFLE))
    v2("v2_zstd", (9,), (4,), "|u1", numcodecs.Zstd())
    v3("v3_raw", (5, 7), (2, 3), "uint16", compressors=None)
    v3("v3_gzip", (4, 5, 6), (3, 2, 4), "float64", compressors=codecs.GzipCodec())
    v3("v3_zstd_checksum", (5, 7), (2, 3), "int16", compressors=[codecs.ZstdCodec(checksum=True), codecs.Crc32cCodec()])
    v3("v3_sharded", (4, 5, 6), (1, 2, 3), "uint16", shards=(2, 4, 6), compressors=codecs.BloscCodec(),
       filters=codecs.TransposeCodec(order=(2, 0, 1)))
    # Only one chunk of one shard is there: the rest is the fill value.
    sparse = zarr.create_array(HERE / "zarr" / "v3_sparse", shape=(6, 6), chunks=(1, 2), shards=(2, 6), dtype="float32",
                               fill_value=-1.5)
    sparse[2:3, 2:4] = 7
    group = zarr.open_group(HERE / "zarr" / "image.ome.zarr", mode="w", zarr_format=3, attributes={"ome": {"version": "0.5", "multiscales": [{
        "axes": [{"name": n} for n in "cyx"], "datasets": [{"path": "0"}, {"path": "1"}]}]}})
    group.create_array("0", shape=(2, 6, 8), chunks=(1, 4, 4), dtype="uint8")[...] = numbers((2, 6, 8), "uint8")


def make_tokenizer():
    """A small tokenizer of GPT-2's kind, trained on this repository's documentation, and what it makes of texts."""
    docs = sorted((HERE.parents[3] / "docs" / "decisions").glob("00[012]*.md"))
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train([str(path) for path in docs], trainers.BpeTrainer(
        vocab_size=700, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
        special_tokens=[AddedToken("<|endoftext|>", special=True)]))
    tokenizer.save(str(HERE / "tokenizer.json"), pretty=False)
    generator = random.Random(4)
    alphabet = list("  \n\t'sdtrevmlabcXYZ0159.,!?-_()\"") + ["\u00e9", "\u4e2d", "\u0661", "\u00a0", "\u2009", "\U0001f600", "\u0301", "\u2167"]
    texts = ["", " ", "  ", "\n", "a", "Hello world", "we're they'll I'd it's 'tis", "  two  spaces ", "line\n\n  next\r\n", "a" * 50,
             "x<|endoftext|>y<|endoftext|>", "1234 56.7e-8", "na\u00efve caf\u00e9 \u4e2d\u6587 \u0661\u0662 \U0001f600\U0001f600", "The measured gain is 25 %, in milliseconds."]
    texts += ["".join(generator.choices(alphabet, k=generator.randint(1, 40))) for _ in range(60)]
    cases = [{"text": text, "tokens": tokenizer.encode(text).ids} for text in texts]
    (HERE / "tokenizer_cases.json").write_text(json.dumps(cases) + "\n")


def make_word_piece():
    """A small tokenizer of BERT's kind, and what it makes of texts under several settings of its normalizer."""
    docs = sorted((HERE.parents[3] / "docs" / "decisions").glob("00[012]*.md"))
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.normalizer = normalizers.BertNormalizer()
    accents, cjk = "\u00e9\u00ef\u0130\u00df\u0439\u0307", "\u4e2d\u6587\U00020000\uf900\u3042\u1112\u1161\u11ab\ud55c\u302e\u0f71"
    tokenizer.train([str(path) for path in docs], trainers.WordPieceTrainer(
        vocab_size=500, show_progress=False, special_tokens=special,
        initial_alphabet=list("abcdefghijklmnopqrstuvwxyzABCXYZ0159" + accents + cjk + "\u2014\u00bf$^")))
    vocabulary = tokenizer.get_vocab()
    for character in accents + cjk + "ABCXYZ\u0301\u0323\u0435\u0438":  # within words as well
        vocabulary.setdefault("##" + character, len(vocabulary))
    tokenizer.model = models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=40)
    tokenizer.add_tokens([AddedToken("Lysosome", normalized=True)])
    tokenizer.save(str(HERE / "word_piece.json"), pretty=False)
    generator = random.Random(5)
    alphabet = (list("  \n\t\r\x00\x01\x0b\x7f\x85\u00a0\u00ad\u200b\u200e\u2028\u3000\ufffd\ufeffabcdeeimnorstTABCXYZ0159.,!?-_()#$^`~'\u2014\u00bf\u00a1\u2019") +
                list(accents + cjk) + ["\u0301", "\u0323", "\u0416", "\u0391\u03a3", "\u2167", "\u01c5", "\U0001f600", "\u212b", "\ue000"])
    texts = ["", " ", "\n", "a", "Hello, World!", "The measured gain is 25 %, in milliseconds.", "caf\u00e9 CAF\u00c9 na\u00efve cafe\u0301",
             "\u0130stanbul stra\u00dfe \u0419", "\u4e2d\u6587ab\U00020000c \ud55c\u3042", "x\x00y\u200bz\ufffd a\u00a0b\u3000c\td\x85e\x0bf", "a" * 40, "a" * 41, "a" * 100 + " b",
             "\u00e9" * 40, "\u00e9" * 41, "[CLS] one [MASK] two[SEP]", "[cls] [UNK] ##ing #", "a lysosome, LYSOSOME, Lysosomes", "\U0001f600\U0001f600", "\u0323\u0301 a\u0301\u0323", "\u0301"]
    texts += ["".join(generator.choices(alphabet, k=generator.randint(1, 40))) for _ in range(60)]
    settings = [(True, True, None, True), (True, True, None, False), (True, True, False, True), (True, False, True, False),
                (False, True, None, True), (False, False, False, False)]
    cases = []
    for clean, cjk_apart, strip, lower in settings:
        tokenizer = Tokenizer.from_file(str(HERE / "word_piece.json"))
        tokenizer.normalizer = normalizers.BertNormalizer(
            clean_text=clean, handle_chinese_chars=cjk_apart, strip_accents=strip, lowercase=lower)
        tokenizer = Tokenizer.from_str(tokenizer.to_str())  # added tokens are normalised when a file is read
        cases.append({"normalizer": json.loads(tokenizer.to_str())["normalizer"],
                      "texts": [{"text": text, "tokens": tokenizer.encode(text, add_special_tokens=False).ids} for text in texts]})
    (HERE / "word_piece_cases.json").write_text(json.dumps(cases) + "\n")


if __name__ == "__main__":
    make_arrays()
    make_tokenizer()
    make_word_piece()
