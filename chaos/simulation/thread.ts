import { parentPort, workerData } from 'node:worker_threads';
import { runSeeds, type Seeds } from './run-seeds.ts';

/** Runs in its own thread, because a simulation never yields to other work. */
parentPort?.postMessage(await runSeeds(workerData as Seeds));
