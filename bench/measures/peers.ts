import type { Measure } from '../harness/bench.ts';
import { logBesideEmmett } from './peers-log.ts';
import { mailBesidePeers } from './peers-mail.ts';
import { queueBesidePeers } from './peers-queue.ts';

/** Compares peers installed on this machine with ours, and names those that are missing. */
export const peers: Measure = {
  name: 'peers',
  run: async (bench) => [
    ...(await mailBesidePeers(bench)),
    ...(await logBesideEmmett(bench)),
    ...(await queueBesidePeers(bench)),
  ],
};
