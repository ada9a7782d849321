import { parentPort, workerData } from 'node:worker_threads';
import { runSeeds, type Seeds } from './run-seeds.ts';

/** A thread of its own: a simulation never waits for anything, and others do. */
parentPort?.postMessage(await runSeeds(workerData as Seeds));
