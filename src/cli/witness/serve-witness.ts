import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { createSemaphore, readAtMost, type Semaphore, type System } from '../../lib/async/async.ts';
import {
  ADD_CHECKPOINT,
  type Answer,
  type Checkpoint,
  type CosignRequest,
  MalformedNote,
  parseCheckpoint,
  parseNote,
  problemWith,
  REQUEST_BYTES_MAX,
  readRequest,
  type Signer,
  signedAt,
  signedNote,
  type VerifierKey,
} from '../../lib/transparency/transparency.ts';
import { replaceFile } from '../replace-file.ts';

/**
 * Stores the last cosigned checkpoint of each log with the witness's signature line, one file per log. The file is
 * written, flushed and renamed before the line is returned, so that after a crash no signature exists that is not
 * stored.
 */

/** A state file has unexpected content. The witness refuses to cosign for this log until a person has investigated. */
class DamagedState extends Error {
  override readonly name = 'DamagedState';
}

const isAbsent = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT';

/** Durably writes a file under its name, or not at all. */
export const writeWhole = async (directory: string, name: string, text: string): Promise<void> => {
  await replaceFile(join(directory, name), text, 0o600);
  const folder = await open(directory, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
};

/** null if the file does not exist. */
export const readIfThere = async (path: string): Promise<string | null> => {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (isAbsent(error)) return null;
    throw error;
  }
};

interface CosignedCheckpoints {
  /** Cosigns a checkpoint that extends the last one. Requests for one log are processed in sequence. */
  cosign(shown: CosignRequest, seconds: number): Promise<Answer>;
}

export const createCosignedCheckpoints = (directory: string, signer: Signer): CosignedCheckpoints => {
  /** Semaphores by origin. Only configured logs reach this map, which bounds its size. */
  const turns = new Map<string, Semaphore>();

  const readLatest = async (name: string, origin: string): Promise<Checkpoint | null> => {
    const text = await readIfThere(join(directory, name));
    if (text === null) return null;
    try {
      const note = parseNote(text);
      const checkpoint = parseCheckpoint(note.text);
      if (checkpoint.origin === origin && signedAt(note, signer.verifierKey) !== null) return checkpoint;
    } catch {
      // also damaged
    }
    throw new DamagedState(`${join(directory, name)} was not written by this witness for ${origin}`);
  };

  const cosignNow = async (shown: CosignRequest, seconds: number): Promise<Answer> => {
    const { origin } = shown.checkpoint;
    const name = `${hash('sha256', origin)}.note`;
    const problem = problemWith(shown, await readLatest(name, origin));
    if (problem !== null) return problem;
    const line = signer.signatureLine(shown.text, seconds);
    await writeWhole(directory, name, signedNote(shown.text, [line]));
    return { status: 200, contentType: 'text/plain; charset=utf-8', body: line };
  };

  return {
    cosign: (shown, seconds) => {
      const { origin } = shown.checkpoint;
      const turn = turns.get(origin) ?? createSemaphore({ capacity: 1 });
      turns.set(origin, turn);
      return turn.run(() => cosignNow(shown, seconds));
    },
  };
};

/** Serves the witness over HTTP. Requests are limited in size, time and number. */

interface ServeWitness {
  /** Keys of the logs it cosigns for. A key's name is the origin of its log. */
  readonly logs: readonly VerifierKey[];
  readonly cosigned: CosignedCheckpoints;
  readonly system: Pick<System, 'now'>;
  /** Called on faults, after which nothing was cosigned. */
  onFault(error: unknown): void;
}

/** Higher: more memory when many connect at once. Lower: rejects logs that connect at the same time. */
const CONNECTIONS_MAX = 128;
const REQUEST_MS_MAX = 15_000;

const answerOf = (status: number, text: string): Answer => ({
  status,
  contentType: 'text/plain; charset=utf-8',
  body: `${text}\n`,
});

export const createWitnessServer = ({ logs, cosigned, system, onFault }: ServeWitness): Server => {
  const cosign = async (body: Buffer): Promise<Answer> => {
    const shown = readRequest(body.toString(), logs);
    return 'status' in shown ? shown : cosigned.cosign(shown, Math.floor(system.now().getTime() / 1000));
  };

  const answer = async (request: IncomingMessage): Promise<Answer> => {
    if (request.url !== ADD_CHECKPOINT) return answerOf(404, 'not found: use POST /add-checkpoint');
    if (request.method !== 'POST') return answerOf(405, 'use POST');
    const body = await readAtMost(request, REQUEST_BYTES_MAX);
    if (body === null) return answerOf(413, `the request is larger than ${REQUEST_BYTES_MAX} bytes`);
    return isUtf8(body) ? cosign(body) : answerOf(400, 'the request is not UTF-8');
  };

  const failed = (error: unknown): Answer => {
    if (error instanceof MalformedNote) return answerOf(400, error.message);
    if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') onFault(error);
    return answerOf(500, 'nothing was cosigned');
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { status, contentType, body } = await answer(request).catch(failed);
    if (status === 413) response.setHeader('connection', 'close');
    response.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(body) });
    response.end(body);
  };

  const server = createServer(
    { requestTimeout: REQUEST_MS_MAX, headersTimeout: REQUEST_MS_MAX },
    (request, response) => {
      void serve(request, response);
    },
  );
  server.maxConnections = CONNECTIONS_MAX;
  return server;
};
