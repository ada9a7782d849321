/// <reference path="./react-dom.d.ts" />
import type { SendBatchRequest, SendMessageRequest } from './api/schemas.ts';
import { base64, base64Stream } from './base64.ts';
import { isServer } from './runtime.ts';

/** Bodies of sends: values other than JSON that they may contain, and their encoding. */

type JsonAttachment = NonNullable<SendMessageRequest['attachments']>[number];

/** `content`: Base64, bytes, or a file, which is read while it is sent (`fs.openAsBlob` of Node, `Bun.file`, `File`). */
export type Attachment = Omit<JsonAttachment, 'content'> & {
  readonly content: string | Uint8Array | ArrayBuffer | Blob;
};

export type SendMessage = Omit<SendMessageRequest, 'attachments'> & {
  readonly attachments?: readonly Attachment[] | undefined;
  /** A React element, rendered into `html` by `react-dom` or by the client's `renderReact`. */
  readonly react?: unknown;
};

export type RenderReact = (element: unknown) => string | Promise<string>;

export type SendBatch = Omit<SendBatchRequest, 'messages'> & { readonly messages: readonly SendMessage[] };

/** 1 to 255 printable characters, unique to this send. */
export const idempotencyKey = (): string => crypto.randomUUID();

const reactDom = async () => {
  try {
    return await import('react-dom/server');
  } catch (cause) {
    throw new TypeError('react requires the package react-dom: install it, or send html', { cause });
  }
};

const byReactDom: RenderReact = async (element) => {
  const { renderToStaticMarkup } = await reactDom();
  return `<!DOCTYPE html>${renderToStaticMarkup(element)}`;
};

/** Files of a body, with the placeholder of each in the JSON. */
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

const contentOf = (content: Attachment['content'], files: Files, where: string): string => {
  if (typeof content === 'string') return content;
  if (content instanceof Blob) return files.place(content);
  if (content instanceof Uint8Array || content instanceof ArrayBuffer) return base64(new Uint8Array(content));
  throw new TypeError(`${where}.content must be Base64, bytes or a Blob`);
};

/** Conversion of a body to JSON values. */
interface Encoding {
  readonly files: Files;
  readonly render: RenderReact;
}

/** @param where prefix for field names, such as `messages[3].`. */
const messageOf = async (
  { react, ...message }: SendMessage,
  { files, render }: Encoding,
  where = '',
): Promise<object> => {
  const isReact = react !== undefined && react !== null;
  if (isReact && message.html !== undefined)
    throw new TypeError(`${where}react and html exclude each other: send only one`);
  return {
    ...message,
    ...(isReact ? { html: await render(react) } : {}),
    ...(Array.isArray(message.attachments) ? { attachments: attachmentsOf(message.attachments, files, where) } : {}),
  };
};

const attachmentsOf = (attachments: readonly Attachment[], files: Files, where: string): readonly object[] =>
  attachments.map((one, index) => ({
    ...one,
    content: contentOf(one.content, files, `${where}attachments[${index}]`),
  }));

const isSend = (body: object): body is SendMessage => 'attachments' in body || 'react' in body;

/** The body as JSON values, except for files. */
const plain = async (body: object, encoding: Encoding): Promise<object> => {
  if (isSend(body)) return messageOf(body, encoding);
  if (!('messages' in body) || !Array.isArray(body.messages)) return body;
  const messages = body.messages.map((one: SendMessage, index) => messageOf(one, encoding, `messages[${index}].`));
  return { ...body, messages: await Promise.all(messages) };
};

async function* textAndFiles(texts: readonly string[], blobs: readonly Blob[]): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for (const [index, text] of texts.entries()) {
    yield encoder.encode(text);
    const blob = blobs[index];
    if (blob !== undefined) yield* base64Stream(blob.stream());
  }
}

/** @param fail receives the error if a file cannot be read. */
const streamOf = (chunks: AsyncGenerator<Uint8Array>, fail: (fault: unknown) => void): ReadableStream<Uint8Array> =>
  new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await chunks.next();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (fault) {
        fail(fault);
        throw fault;
      }
    },
    async cancel() {
      await chunks.return(undefined);
    },
  });

/** A body for one attempt. */
interface MadeBody {
  readonly body: RequestInit;
  /** Error of a file that could not be read; undefined: none. */
  fault(): unknown;
}

export interface Body {
  /** Creates the body again: a stream can be sent only once. */
  make(): MadeBody;
}

const constantly = (body: RequestInit): Body => ({ make: () => ({ body, fault: () => undefined }) });

/** @throws {TypeError} for values that JSON cannot represent, and for invalid attachments. */
export const encodeBody = async (body: unknown, render: RenderReact = byReactDom): Promise<Body> => {
  if (typeof body !== 'object' || body === null) return constantly({});
  const files = createFiles();
  const json = JSON.stringify(await plain(body, { files, render }));
  if (files.blobs.length === 0) return constantly({ body: json });
  const texts = json.split(files.mark);
  if (!isServer()) {
    const whole = streamOf(textAndFiles(texts, files.blobs), () => undefined);
    return constantly({ body: await new Response(whole).blob() });
  }
  return {
    make: () => {
      let fault: unknown;
      const stream = streamOf(textAndFiles(texts, files.blobs), (why) => {
        fault = why;
      });
      // To follow or to show a redirect, the fetch of Node keeps all that it has sent.
      const body = { body: stream, duplex: 'half', redirect: 'error' } as RequestInit;
      return { body, fault: () => fault };
    },
  };
};
