import type { Measure } from '../harness/bench.ts';
import { logBesideEmmett } from './peers-log.ts';
import { mailBesidePeers } from './peers-mail.ts';
import { queueBesidePeers } from './peers-queue.ts';

/** Programs of the same kind that this machine has, side by side with ours; what it has not is named. */
export const peers: Measure = {
  name: 'peers',
  run: async (bench) => [
    ...(await mailBesidePeers(bench)),
    ...(await logBesideEmmett(bench)),
    ...(await queueBesidePeers(bench)),
  ],
};
