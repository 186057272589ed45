// A Worker that is given a window and tells later what it sees there.
declare const self: Worker

let bytes = new Uint8Array(0)

self.onmessage = ({ data }: MessageEvent<ArrayBuffer | 'sum'>) => {
  if (data !== 'sum') bytes = new Uint8Array(data)
  else self.postMessage({ sum: bytes.reduce((a, b) => a + b, 0), length: bytes.length })
}

export {}
