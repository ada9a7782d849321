import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { clientNetworkOf } from '../domain/kernel/addresses.ts';
import { DomainError } from '../domain/kernel/errors.ts';
import { type Cohort, createCohort, startDeadline } from '../lib/async/async.ts';
import {
  announcedBytes,
  type BodyBudget,
  type BodyEnd,
  BodyError,
  type BoundedBody,
  createBoundedForm,
  createBoundedJson,
  endOf,
  isForm,
  type JsonBounds,
  notJson,
  REQUESTS_MAX,
  type Reservation,
  type SentJson,
  SMALL_BODY_BYTES_MAX,
  UNANNOUNCED_BYTES,
} from '../lib/http/http.ts';

/**
 * Reads the body of a request while it arrives: memory for it is reserved in the share of its organization, its JSON
 * or form is bounded and parsed, and the memory is released when the request ends.
 */

declare module 'fastify' {
  interface FastifyRequest {
    /** Error from reading the body; the handler throws it. */
    bodyRefusal: DomainError | null;
    bodyReservation: Reservation | null;
    /** The part of the body that was read, as it was sent; null: no body. */
    sentJson: SentJson | null;
  }
  interface FastifyContextConfig {
    /** Bounds of the route's body. Default: `DEFAULT_BOUNDS`. */
    bounds?: JsonBounds;
  }
}

/** Default for a route. */
const BODY_BYTES_MAX = 64_000;
/** Five times as many as any valid body has, except a batch. */
const VALUES_MAX = 5_000;

/** @param bytesMax at most 1 MB; larger bodies need attachments. */
export const bodyOf = (bytesMax: number): JsonBounds => ({ bytesMax, restBytesMax: bytesMax, valuesMax: VALUES_MAX });

const DEFAULT_BOUNDS = bodyOf(BODY_BYTES_MAX);

/** Smallest chunk for which a body may wait for memory: chunks are held one by one during the wait. */
const PIECE_BYTES_MIN = 512;
/** With the time below, 25 MB at 4 Mbit/s. Slower clients hold memory that others wait for. */
const BYTES_PER_MS_MIN = 600;
const BODY_MS_MIN = 10_000;
const RETRY_AFTER_SECONDS = 5;
const SECOND_MS = 1_000;

const tooLarge = (maximum: number): DomainError =>
  new DomainError('body_too_large', `the body is larger than ${maximum} bytes`);

const noRoom = (): DomainError =>
  new DomainError('unavailable', 'too many large requests are in progress: try again in a few seconds', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });

const tooSlow = (ms: number): DomainError =>
  new DomainError('unavailable', `the body did not arrive within ${Math.round(ms / SECOND_MS)} seconds`, {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });

const isEncoded = (request: FastifyRequest): boolean =>
  (request.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity';

/** A form is held as it was sent while its fields and files are read from it. */
const FORM_COPIES = 2;

const copiesOf = ({ headers }: FastifyRequest): number => (isForm(headers['content-type']) ? FORM_COPIES : 1);

/** Size of the body that memory is reserved for. */
const reservedFor = (request: FastifyRequest): number => (request.bodyReservation?.bytes() ?? 0) / copiesOf(request);

interface BodyReservation {
  readonly request: FastifyRequest;
  readonly ended: BodyEnd;
  /** Size of the body. */
  readonly bytes: number;
  readonly waits: boolean;
}

interface ReservationIncrease extends Pick<BodyReservation, 'request' | 'ended'> {
  readonly received: number;
  readonly bytesMax: number;
  /** Average size of its pieces. */
  readonly pieceBytes: number;
}

interface BodyRead {
  readonly payload: IncomingMessage;
  readonly body: BoundedBody;
  /** Reserves more memory if needed for so many bytes; null: not needed, or pointless. */
  widen(received: number, pieceBytes: number): Promise<DomainError | null> | null;
  readonly deadlineMs: number;
  /** The cohort of requests whose bodies have arrived. */
  readonly arrived: Cohort;
}

/** Reads a whole body. Rejects as soon as it breaks a bound; the rest is discarded. */
const readWhole = ({ payload, body, widen, deadlineMs, arrived }: BodyRead): Promise<void> =>
  new Promise((resolve, reject) => {
    let received = 0;
    let pieces = 0;
    const stopDeadline = startDeadline(deadlineMs, () => stop(tooSlow(deadlineMs)));
    const stop = (error: unknown): void => {
      stopDeadline();
      payload.removeAllListeners('data');
      payload.resume();
      reject(error);
    };
    const add = (chunk: Buffer): void => {
      try {
        body.add(chunk);
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
      stopDeadline();
      arrived.join(resolve, received);
    });
    payload.once('error', () => stop(notJson()));
    // Every body emits `close`. Create the error only for bodies that did not end.
    payload.once('close', () => {
      if (!payload.readableEnded) stop(notJson());
    });
    if (payload.destroyed) stop(notJson());
  });

/**
 * Reads a body that has arrived before its request began, as most have: the listeners of one that is still to come cost as
 * much as its bytes.
 * @param bytesMax what is reserved for it.
 * @returns whether it had.
 */
const readAtOnce = ({ payload, body }: Pick<BodyRead, 'payload' | 'body'>, bytesMax: number): boolean => {
  if (!payload.complete || payload.destroyed || payload.readableLength > bytesMax) return false;
  for (let chunk = payload.read(); chunk !== null; chunk = payload.read()) body.add(chunk);
  return true;
};

/** Reads bodies within the route's bounds and the memory for bodies in flight. */
interface RequestBodies {
  /**
   * The parser of JSON and forms for Fastify. Errors are kept for the handler: thrown here, Fastify would close the connection while
   * the client still writes, and the client would never see the error.
   */
  parse(request: FastifyRequest, payload: IncomingMessage, done: (error: Error | null, body?: unknown) => void): void;
  /** Releases the memory of a request when its response has ended, or its client has disconnected before. */
  releaseAtEnd(request: FastifyRequest, reply: FastifyReply): void;
}

/** The refusal of a body; null: a fault of the service. */
const refusalOf = (error: Error): DomainError | null => {
  if (error instanceof DomainError) return error;
  if (!(error instanceof BodyError)) return null;
  const { code, message, details } = error;
  return new DomainError(code, message, details === undefined ? {} : { details });
};

/** @param marker unguessable text; see `createBoundedJson`. */
export const createRequestBodies = (budget: BodyBudget, marker: string): RequestBodies => {
  const arrived = createCohort({ membersMax: REQUESTS_MAX });

  const release = (request: FastifyRequest): void => {
    request.bodyReservation?.release();
    request.bodyReservation = null;
  };

  /** Replaces the request's reservation. */
  const reserve = async ({ request, ended, waits, ...body }: BodyReservation): Promise<DomainError | null> => {
    const bytes = body.bytes * copiesOf(request);
    const organizationId = request.caller?.organizationId ?? clientNetworkOf(request.ip);
    const reservation =
      budget.reserveNow(organizationId, bytes) ??
      (waits ? await budget.reserve(organizationId, bytes, { waits, signal: ended.signal() }) : null);
    if (reservation === null) return noRoom();
    release(request);
    request.bodyReservation = reservation;
    return null;
  };

  /** First reservation of a body. */
  const reserveFirst = (request: FastifyRequest, ended: BodyEnd, bytesMax: number) => {
    const bytes = announcedBytes(request);
    if (bytes !== null && bytes > bytesMax) throw tooLarge(bytesMax);
    return bytes === null
      ? reserve({ request, ended, bytes: Math.min(bytesMax, UNANNOUNCED_BYTES), waits: false })
      : reserve({ request, ended, bytes, waits: true });
  };

  /** Larger reservation for a body without `Content-Length`, once so much of it has arrived. */
  const reserveMore = ({ request, ended, received, bytesMax, pieceBytes }: ReservationIncrease) => {
    const smallMax = SMALL_BODY_BYTES_MAX / copiesOf(request);
    const isSmall = received <= smallMax;
    const bytes = isSmall ? Math.min(bytesMax, smallMax) : bytesMax;
    const waits = !isSmall && pieceBytes >= PIECE_BYTES_MIN;
    return reserve({ request, ended, bytes, waits });
  };

  /** @throws {DomainError} `unsupported_media_type`. */
  const bodyReaderOf = ({ headers }: FastifyRequest, bounds: JsonBounds): (() => BoundedBody) => {
    const type = headers['content-type'] ?? '';
    if (!isForm(type)) return () => createBoundedJson(bounds, marker);
    if (bounds.takesForms === true) return () => createBoundedForm(bounds, type);
    throw new DomainError('unsupported_media_type', 'the body must be application/json');
  };

  const read = async (request: FastifyRequest, payload: IncomingMessage, ended: BodyEnd): Promise<unknown> => {
    if (isEncoded(request))
      throw new DomainError('unsupported_media_type', 'Content-Encoding is not supported: send the body uncompressed');
    const bounds = request.routeOptions.config.bounds ?? DEFAULT_BOUNDS;
    const { bytesMax } = bounds;
    const create = bodyReaderOf(request, bounds);
    const refusal = await reserveFirst(request, ended, bytesMax);
    if (refusal !== null) throw refusal;
    const body = create();
    request.sentJson = body.sent;
    const widen: BodyRead['widen'] = (received, pieceBytes) => {
      return received <= reservedFor(request) || received > bytesMax
        ? null
        : reserveMore({ request, ended, received, bytesMax, pieceBytes });
    };
    const deadlineMs = BODY_MS_MIN + (announcedBytes(request) ?? bytesMax) / BYTES_PER_MS_MIN;
    const reading = { payload, body, widen, deadlineMs, arrived };
    if (!readAtOnce(reading, reservedFor(request))) await readWhole(reading);
    const value = await body.end();
    request.bodyReservation?.shrink(body.heldBytes());
    body.release();
    return value;
  };

  return {
    parse: (request, payload, done) => {
      const ended = endOf(payload);
      read(request, payload, ended).then(
        (value) => done(null, value),
        (error: Error) => {
          ended.abort();
          release(request);
          const refusal = refusalOf(error);
          if (refusal === null) return done(error);
          request.bodyRefusal = refusal;
          done(null);
        },
      );
    },
    releaseAtEnd: (request, reply) => {
      if (request.headers['content-type'] !== undefined) reply.raw.once('close', () => release(request));
    },
  };
};
