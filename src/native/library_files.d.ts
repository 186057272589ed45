// Types of `import path from './x.so' with { type: 'file' }`: the file's path.
declare module '*.so' {
  const path: string
  export default path
}
declare module '*.dylib' {
  const path: string
  export default path
}
declare module '*.dll' {
  const path: string
  export default path
}
