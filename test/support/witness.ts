import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createSystem } from '../../src/adapters/system.ts';
import { createCosignedCheckpoints, createWitnessServer } from '../../src/cli/witness/serve-witness.ts';
import { createCosigner, type Signer, type VerifierKey } from '../../src/lib/transparency/transparency.ts';

const listen = async (server: Server): Promise<string> => {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
};

export const temporaryFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'outbox-witness-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

export interface TestWitness {
  readonly url: string;
  readonly signer: Signer;
  /** Keys of the logs that it knows. More can be added. */
  readonly logs: VerifierKey[];
  readonly folder: string;
  readonly faults: unknown[];
}

/** Starts this product's witness in this process. */
export const startWitness = async (given: Partial<TestWitness> = {}): Promise<TestWitness> => {
  const signer = given.signer ?? createCosigner('witness.example/w1', randomBytes(32));
  const logs = given.logs ?? [];
  const folder = given.folder ?? (await temporaryFolder());
  const faults: unknown[] = [];
  const cosigned = createCosignedCheckpoints(folder, signer);
  const onFault = (error: unknown): number => faults.push(error);
  const url = await listen(createWitnessServer({ logs, cosigned, system: createSystem(), onFault }));
  return { url, signer, logs, folder, faults };
};

/** A witness with other behaviour. */
export const startOtherWitness = (behaviour: RequestListener): Promise<string> => listen(createServer(behaviour));
