/** Detects the runtime: Node, Deno, Bun or a browser. */

/** Version in package.json; a test compares them. */
export const VERSION = '0.1.0';

interface Runtime {
  readonly process?: {
    readonly env?: Readonly<Record<string, string | undefined>>;
    readonly versions?: { readonly node?: string };
  };
  readonly document?: unknown;
  readonly Buffer?: {
    from(bytes: ArrayBufferLike, at: number, length: number): { toString(encoding: 'base64'): string };
  };
}

const runtime = globalThis as Runtime;

export const environment = (name: string): string | undefined => runtime.process?.env?.[name];

/**
 * True if a request may have a stream as its body, and a custom `User-Agent`. Browsers and their workers cannot send
 * streams over HTTP/1.1, and some send the text `[object ReadableStream]`, so only known runtimes stream.
 */
export const isServer = (): boolean =>
  runtime.process?.versions?.node !== undefined && typeof runtime.document === 'undefined';

/** The runtime's own Base64 encoder, if it has one. */
export const nativeBase64 = ({ buffer, byteOffset, byteLength }: Uint8Array): string | undefined =>
  runtime.Buffer?.from(buffer, byteOffset, byteLength).toString('base64');
