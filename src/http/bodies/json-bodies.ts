import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Refusal } from '../../domain/refusal.ts';
import type { BodyBudget } from './body-budget.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Why the body could not be read; whoever needs the body refuses with it. */
    bodyRefusal: Refusal | null;
    bodyBytes: number;
  }
}

/** Names that change an object's prototype in some program or other. */
const POISON = /"(?:__proto__|(?:\\u005[fF]|_){2}proto(?:\\u005[fF]|_){2})"\s*:/;
const tooLarge = (maximum: number): Refusal =>
  new Refusal('body_too_large', `the body is larger than ${maximum} bytes`);

const noRoom = (): Refusal =>
  new Refusal('unavailable', 'too many large requests are in hand', { retryAfterSeconds: 2 });

const notJson = (): Refusal => new Refusal('invalid_json', 'the body is not well-formed JSON in UTF-8');

/** @returns undefined for an empty body. */
const parse = (bytes: Buffer): unknown => {
  if (bytes.length === 0) return undefined;
  if (!isUtf8(bytes)) throw notJson();
  const text = bytes.toString('utf8');
  if (POISON.test(text)) throw new Refusal('invalid_json', 'the body names a field __proto__');
  try {
    return JSON.parse(text);
  } catch {
    throw notJson();
  }
};

interface Reading {
  readonly payload: IncomingMessage;
  readonly maximum: number;
  readonly take: (bytes: number) => boolean;
}

/** All bytes of a body; refused as soon as they are too many, and the rest is let run out unseen. */
const readBytes = ({ payload, maximum, take }: Reading): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let received = 0;
    const stop = (error: Error): void => {
      payload.removeAllListeners('data');
      payload.resume();
      reject(error);
    };
    payload.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (received > maximum) stop(tooLarge(maximum));
      else if (take(chunk.length)) chunks.push(chunk);
      else stop(noRoom());
    });
    payload.once('end', () =>
      resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks)),
    );
    payload.once('error', () => reject(notJson()));
    // Every body is closed in the end: a refusal and its stack are made for those alone that did not come to theirs.
    payload.once('close', () => {
      if (!payload.readableEnded) reject(notJson());
    });
  });

const isEncoded = (request: FastifyRequest): boolean =>
  (request.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity';

/**
 * Reads JSON, and nothing else, within the route's limit and what all bodies together may take. What is wrong with a
 * body is kept for the handler: were it thrown here, Fastify would end the connection while the client still writes,
 * and the client would never see why.
 */
export const readJsonBodies = (server: FastifyInstance, budget: BodyBudget): void => {
  server.decorateRequest('bodyRefusal', null);
  server.decorateRequest('bodyBytes', 0);

  const read = async (request: FastifyRequest, payload: IncomingMessage): Promise<unknown> => {
    if (isEncoded(request)) throw new Refusal('unsupported_media_type', 'Content-Encoding is not supported');
    const maximum = request.routeOptions.bodyLimit;
    if (Number(request.headers['content-length'] ?? 0) > maximum) throw tooLarge(maximum);
    const take = (bytes: number): boolean => {
      const taken = budget.take(bytes);
      if (taken) request.bodyBytes += bytes;
      return taken;
    };
    return parse(await readBytes({ payload, maximum, take }));
  };

  const release = (request: FastifyRequest): void => {
    budget.give(request.bodyBytes);
    request.bodyBytes = 0;
  };

  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) => {
    try {
      return await read(request, payload);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      request.bodyRefusal = error;
      return undefined;
    }
  });
  // A client that goes away before the answer is seen by `close` alone; a request that came by `inject` has no socket.
  server.addHook('onRequest', (request, reply, done) => {
    if (request.headers['content-type'] !== undefined) reply.raw.once('close', () => release(request));
    done();
  });
  server.addHook('onResponse', (request, _reply, done) => {
    release(request);
    done();
  });
};
