import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { DomainError } from '../../domain/domain-error.ts';
import { type BodyBudget, type Reservation, SMALL_BODY_BYTES_MAX } from './body-budget.ts';
import { type BoundedJson, createBoundedJson, type JsonBounds } from './bounded-json.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Why the body could not be read; whoever needs the body refuses with it. */
    bodyRefusal: DomainError | null;
    bodyReservation: Reservation | null;
  }
  interface FastifyContextConfig {
    /** Of the route's body; absent: `DEFAULT_BOUNDS`. */
    bounds?: JsonBounds;
  }
}

/** Most bodies are small; whoever takes more says so. */
const BODY_BYTES_MAX = 64_000;
/** Five times what any field of any route takes, a batch apart. */
const VALUES_MAX = 5_000;

/** @param bytesMax at most 1 MB: what is larger is the business of attachments. */
export const bodyOf = (bytesMax: number): JsonBounds => ({ bytesMax, restBytesMax: bytesMax, valuesMax: VALUES_MAX });

const DEFAULT_BOUNDS = bodyOf(BODY_BYTES_MAX);

/**
 * Bodies whose length is not announced hold this much at first, then as much as a small body, then all that the route
 * takes. More refuses clients that send small bodies so.
 */
const UNANNOUNCED_BYTES = 16_000;
/** Such a body waits for room only where it comes in pieces of some size: what waits is kept piece by piece. */
const PIECE_BYTES_MIN = 512;
/** With the time below, 25 MB at 4 Mbit/s. Slower clients hold room that others wait for. */
const BYTES_PER_MS_MIN = 600;
const BODY_MS_MIN = 10_000;
const RETRY_AFTER_SECONDS = 5;
const SECOND_MS = 1_000;

const tooLarge = (maximum: number): DomainError =>
  new DomainError('body_too_large', `the body is larger than ${maximum} bytes`);

const noRoom = (): DomainError =>
  new DomainError('unavailable', 'too many large requests are in hand: send this one again in some seconds', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });

const tooSlow = (ms: number): DomainError =>
  new DomainError('unavailable', `the body did not arrive within ${Math.round(ms / SECOND_MS)} seconds`, {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });

const notWhole = (): DomainError => new DomainError('invalid_json', 'the body is not well-formed JSON in UTF-8');

const isEncoded = (request: FastifyRequest): boolean =>
  (request.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity';

/** null: it comes in chunks. */
const announcedBytes = ({ headers }: FastifyRequest): number | null =>
  headers['content-length'] === undefined ? null : Number(headers['content-length']);

interface Reserving {
  readonly request: FastifyRequest;
  /** Aborted: the room is wanted no more. */
  readonly signal: AbortSignal;
  readonly bytes: number;
  readonly waits: boolean;
}

interface Widening extends Pick<Reserving, 'request' | 'signal'> {
  readonly received: number;
  readonly bytesMax: number;
  /** Of its pieces on the average. */
  readonly pieceBytes: number;
}

interface Reading {
  readonly payload: IncomingMessage;
  readonly json: BoundedJson;
  /** Asks for room where there is not enough for so many bytes; null: there is, or there will be none. */
  widen(received: number, pieceBytes: number): Promise<DomainError | null> | null;
  readonly deadlineMs: number;
}

/** Aborts when the client goes away; `abort` when the body is wanted no more. */
const endOf = (payload: IncomingMessage): AbortController => {
  const ended = new AbortController();
  if (payload.destroyed) ended.abort();
  else payload.once('close', () => ended.abort());
  return ended;
};

/** All of a body; refused as soon as it breaks a bound, and the rest is let run out unseen. */
const readWhole = ({ payload, json, widen, deadlineMs }: Reading): Promise<void> =>
  new Promise((resolve, reject) => {
    let received = 0;
    let pieces = 0;
    const timer = setTimeout(() => stop(tooSlow(deadlineMs)), deadlineMs);
    const stop = (error: unknown): void => {
      clearTimeout(timer);
      payload.removeAllListeners('data');
      payload.resume();
      reject(error);
    };
    const add = (chunk: Buffer): void => {
      try {
        json.add(chunk);
      } catch (error) {
        stop(error);
      }
    };
    payload.on('data', (chunk: Buffer) => {
      received += chunk.length;
      pieces += 1;
      const widening = widen(received, received / pieces);
      if (widening === null) {
        add(chunk);
        return;
      }
      payload.pause();
      widening.then((refusal) => {
        if (refusal !== null) return stop(refusal);
        add(chunk);
        payload.resume();
      }, stop);
    });
    payload.once('end', () => {
      clearTimeout(timer);
      resolve();
    });
    payload.once('error', () => stop(notWhole()));
    // Every body is closed in the end: a refusal and its stack are made for those alone that did not come to theirs.
    payload.once('close', () => {
      if (!payload.readableEnded) stop(notWhole());
    });
    if (payload.destroyed) stop(notWhole());
  });

/**
 * Reads JSON, and nothing else, within the route's bounds and what all bodies together may take. What is wrong with a
 * body is kept for the handler: were it thrown here, Fastify would end the connection while the client still writes,
 * and the client would never see why.
 * @param marker unguessable text; see `createBoundedJson`.
 */
export const readJsonBodies = (server: FastifyInstance, budget: BodyBudget, marker: string): void => {
  server.decorateRequest('bodyRefusal', null);
  server.decorateRequest('bodyReservation', null);

  const release = (request: FastifyRequest): void => {
    request.bodyReservation?.release();
    request.bodyReservation = null;
  };

  /** In place of what the request holds already. */
  const reserve = async ({ request, signal, bytes, waits }: Reserving): Promise<DomainError | null> => {
    const organizationId = request.caller?.organizationId ?? request.ip;
    const reservation = await budget.reserve(organizationId, bytes, { waits, signal });
    if (reservation === null) return noRoom();
    if (signal.aborted) {
      reservation.release();
      return noRoom();
    }
    release(request);
    request.bodyReservation = reservation;
    return null;
  };

  /** The room that a body begins with. */
  const reserveFirst = (request: FastifyRequest, signal: AbortSignal, bytesMax: number) => {
    const bytes = announcedBytes(request);
    if (bytes !== null && bytes > bytesMax) throw tooLarge(bytesMax);
    return bytes === null
      ? reserve({ request, signal, bytes: Math.min(bytesMax, UNANNOUNCED_BYTES), waits: false })
      : reserve({ request, signal, bytes, waits: true });
  };

  /** The room for all of a body whose length was not announced, once so much of it has come. */
  const reserveMore = ({ request, signal, received, bytesMax, pieceBytes }: Widening) => {
    const isSmall = received <= SMALL_BODY_BYTES_MAX;
    const bytes = isSmall ? Math.min(bytesMax, SMALL_BODY_BYTES_MAX) : bytesMax;
    const waits = !isSmall && pieceBytes >= PIECE_BYTES_MIN;
    return reserve({ request, signal, bytes, waits });
  };

  const read = async (request: FastifyRequest, payload: IncomingMessage, signal: AbortSignal): Promise<unknown> => {
    if (isEncoded(request)) throw new DomainError('unsupported_media_type', 'Content-Encoding is not supported');
    const bounds = request.routeOptions.config.bounds ?? DEFAULT_BOUNDS;
    const { bytesMax } = bounds;
    const refusal = await reserveFirst(request, signal, bytesMax);
    if (refusal !== null) throw refusal;
    const json = createBoundedJson(bounds, marker);
    const widen: Reading['widen'] = (received, pieceBytes) => {
      const held = request.bodyReservation?.bytes() ?? 0;
      return received <= held || received > bytesMax
        ? null
        : reserveMore({ request, signal, received, bytesMax, pieceBytes });
    };
    const deadlineMs = BODY_MS_MIN + (announcedBytes(request) ?? bytesMax) / BYTES_PER_MS_MIN;
    await readWhole({ payload, json, widen, deadlineMs });
    const value = await json.end();
    request.bodyReservation?.shrink(json.heldBytes());
    return value;
  };

  server.removeAllContentTypeParsers();
  server.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) => {
    const ended = endOf(payload);
    try {
      return await read(request, payload, ended.signal);
    } catch (error) {
      ended.abort();
      release(request);
      if (!(error instanceof DomainError)) throw error;
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
