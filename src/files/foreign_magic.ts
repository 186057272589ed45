// Says what a file really is that does not begin with "GGUF".

const beforeGguf = 'comes from before GGUF: convert the original model again'

// The first bytes, as Latin-1, and what follows from them.
const beginnings: readonly (readonly [RegExp, string])[] = [
  [/^(tjgg|GGJT)/, `this is an old GGJT file, which ${beforeGguf}`],
  [/^(fmgg|GGMF)/, `this is an old GGMF file, which ${beforeGguf}`],
  [/^(lmgg|GGML)/, `this is an old GGML file, which ${beforeGguf}`],
  [/^(algg|GGLA)/, `this is an old GGLA adapter, which ${beforeGguf}`],
  [/^FUGG/, 'the bytes of "GGUF" are reversed: the file was written in the wrong byte order'],
  [/^version https:\/\/git-lfs|^vers/, 'this is a Git LFS pointer: fetch the file (git lfs pull)'],
  [/^PK/, 'this is a ZIP archive (PyTorch checkpoints are ZIP archives too)'],
  [/^\s*<(!doc|htm|\?xml|!--|head)/i, 'this is a web page: the download went wrong'],
  [/^\s*[{[]/, 'this is JSON'],
  [/^\x1f\x8b/, 'this is gzip-compressed: decompress it first'],
  [/^\x28\xb5\x2f\xfd/, 'this is zstd-compressed: decompress it first'],
  [/^\xfd7zXZ/, 'this is xz-compressed: decompress it first'],
  [/^BZh/, 'this is bzip2-compressed: decompress it first'],
  [/^7z\xbc\xaf/, 'this is a 7-Zip archive'],
  [/^\x80[\x02-\x05]/, 'this is a Python pickle (a PyTorch checkpoint)'],
  [/^.{8}\{"/s, 'this is a safetensors file: convert it first'],
  [/^\0{4}/, 'it begins with zeros: the download is probably not finished'],
]

/** `head`: the first 16 bytes of the file, or all there are. */
export const describeForeignMagic = (head: Uint8Array): string => {
  const text = String.fromCharCode(...head)
  for (const [pattern, meaning] of beginnings) if (pattern.test(text)) return meaning
  return 'this is not a GGUF file'
}
