import { request } from 'node:http';

/** A server-sent event in its wire format. */
export interface Frame {
  readonly id: string | null;
  readonly event: string | null;
  readonly data: unknown;
}

export interface OpenStream {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  /** All text received so far. */
  text(): string;
  /** Frames with data received so far. */
  frames(): readonly Frame[];
  /** Resolves once `count` frames with data have arrived. @throws {Error} if the stream ends before. */
  atLeast(count: number): Promise<readonly Frame[]>;
  /** Resolves with the whole text once the server has ended the stream. */
  ended(): Promise<string>;
  pause(): void;
  resume(): void;
  close(): void;
}

const fieldOf = (block: string, name: string): string | null =>
  block
    .split('\n')
    .find((line) => line.startsWith(`${name}: `))
    ?.slice(name.length + 2) ?? null;

const framesOf = (text: string): readonly Frame[] =>
  text
    .split('\n\n')
    .slice(0, -1)
    .filter((block) => fieldOf(block, 'data') !== null)
    .map((block) => ({
      id: fieldOf(block, 'id'),
      event: fieldOf(block, 'event'),
      data: JSON.parse(fieldOf(block, 'data') ?? 'null'),
    }));

export interface StreamRequest {
  readonly base: string;
  readonly key: string;
  readonly query?: string;
  readonly lastEventId?: string;
}

export const openStream = ({ base, key, query = '', lastEventId }: StreamRequest): Promise<OpenStream> => {
  const { promise: opened, resolve, reject } = Promise.withResolvers<OpenStream>();
  const headers = {
    authorization: `Bearer ${key}`,
    accept: 'text/event-stream',
    ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
  };
  const sent = request(`${base}/v1/events?${query}`, { headers, agent: false }, (response) => {
    let text = '';
    const grown = new Set<() => void>();
    const tell = (): void => {
      for (const one of grown) one();
    };
    const over = new Promise<string>((done) => {
      response.once('close', () => {
        done(text);
        tell();
      });
    });
    response.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      tell();
    });
    response.on('error', () => undefined);
    resolve({
      status: response.statusCode ?? 0,
      headers: response.headers,
      text: () => text,
      frames: () => framesOf(text),
      atLeast: (count) => {
        const { promise, resolve: done, reject: fail } = Promise.withResolvers<readonly Frame[]>();
        const look = (): void => {
          const frames = framesOf(text);
          if (frames.length >= count) done(frames);
          else if (response.closed) fail(new Error(`the stream ended after ${frames.length} events: ${text}`));
        };
        grown.add(look);
        look();
        return promise;
      },
      ended: () => over,
      pause: () => response.pause(),
      resume: () => response.resume(),
      close: () => sent.destroy(),
    });
  });
  sent.once('error', reject);
  sent.end();
  return opened;
};
