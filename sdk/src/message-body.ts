/// <reference path="./react-dom.d.ts" />
import type { SendBatchRequest, SendMessageRequest } from './api/schemas.ts';
import { base64, base64Stream } from './base64.ts';

/** Bodies of sends: what they may hold beside JSON, and how they are sent. */

type JsonAttachment = NonNullable<SendMessageRequest['attachments']>[number];

/** `content`: Base64, bytes, or a file, which is read while it is sent (`fs.openAsBlob` of Node, `Bun.file`, `File`). */
export type Attachment = Omit<JsonAttachment, 'content'> & {
  readonly content: string | Uint8Array | ArrayBuffer | Blob;
};

export type SendMessage = Omit<SendMessageRequest, 'attachments'> & {
  readonly attachments?: readonly Attachment[] | undefined;
  /** A React element, rendered into `html` by `react-dom`. */
  readonly react?: unknown;
};

export type SendBatch = Omit<SendBatchRequest, 'messages'> & { readonly messages: readonly SendMessage[] };

/** 1 to 255 printable characters that no other send has. */
export const idempotencyKey = (): string => crypto.randomUUID();

const rendered = async (element: unknown): Promise<string> => {
  const { renderToStaticMarkup } = await import('react-dom/server').catch((cause: unknown) => {
    throw new TypeError('react needs the package react-dom: install it, or send html', { cause });
  });
  return `<!DOCTYPE html>${renderToStaticMarkup(element)}`;
};

/** Files of a body, and what stands for each in its JSON until it is sent. */
interface Files {
  place(file: Blob): string;
  readonly blobs: readonly Blob[];
  readonly mark: string;
}

const createFiles = (): Files => {
  const blobs: Blob[] = [];
  const mark = `outbox-file-${crypto.randomUUID()}`;
  const place = (file: Blob): string => {
    blobs.push(file);
    return mark;
  };
  return { blobs, mark, place };
};

const contentOf = (content: Attachment['content'], files: Files): string => {
  if (typeof content === 'string') return content;
  return content instanceof Blob ? files.place(content) : base64(new Uint8Array(toBuffer(content)));
};

const toBuffer = (bytes: Uint8Array | ArrayBuffer): ArrayBuffer | Uint8Array<ArrayBuffer> =>
  bytes instanceof ArrayBuffer ? bytes : new Uint8Array(bytes);

const messageOf = async ({ react, ...message }: SendMessage, files: Files): Promise<object> => ({
  ...message,
  ...(react === undefined || react === null ? {} : { html: await rendered(react) }),
  ...(message.attachments === undefined
    ? {}
    : { attachments: message.attachments.map((one) => ({ ...one, content: contentOf(one.content, files) })) }),
});

const isSend = (body: object): body is SendMessage => 'attachments' in body || 'react' in body;

/** The body as JSON can hold it, but for files. */
const plain = async (body: object, files: Files): Promise<object> => {
  if (isSend(body)) return messageOf(body, files);
  if (!('messages' in body) || !Array.isArray(body.messages)) return body;
  return { ...body, messages: await Promise.all(body.messages.map((one: SendMessage) => messageOf(one, files))) };
};

async function* textAndFiles(texts: readonly string[], blobs: readonly Blob[]): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for (const [index, text] of texts.entries()) {
    yield encoder.encode(text);
    const blob = blobs[index];
    if (blob !== undefined) yield* base64Stream(blob.stream());
  }
}

const streamOf = (chunks: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> =>
  new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await chunks.return(undefined);
    },
  });

/** Browsers send no streams over HTTP/1.1: there a file is encoded before it is sent. */
const takesStreams = (): boolean => typeof (globalThis as { readonly document?: unknown }).document === 'undefined';

/** @returns makes the body anew for each try, as fetch takes it. @throws {TypeError} what no JSON can hold. */
export const encodeBody = async (body: unknown): Promise<() => RequestInit> => {
  if (typeof body !== 'object' || body === null) return () => ({});
  const files = createFiles();
  const json = JSON.stringify(await plain(body, files));
  if (files.blobs.length === 0) return () => ({ body: json });
  const texts = json.split(files.mark);
  if (!takesStreams()) {
    const whole = await new Response(streamOf(textAndFiles(texts, files.blobs))).arrayBuffer();
    return () => ({ body: whole });
  }
  return () => ({ body: streamOf(textAndFiles(texts, files.blobs)), duplex: 'half' }) as RequestInit;
};
