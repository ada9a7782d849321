import { withTimeout } from '../../../async/with-timeout.ts';
import { load } from '../../../commands/execute.ts';
import {
  destination,
  destinationStream,
  isCovered,
  isSuspended,
  ownDestination,
  type Suspension,
} from '../../../domain/destination/destination.ts';
import type { ExistingMessage } from '../../../domain/message/message.ts';
import { isOpen } from '../../../domain/message/recipient.ts';
import type { HttpDependencies } from '../../dependencies.ts';

/** Whoever asks is kept waiting; too short, and a slow resolver hides why a message waits. */
const LOOK_UP_MS_MAX = 1_000;

type Found = readonly (readonly [domain: string, suspension: Suspension])[];

/** What is suspended of the destinations that this message still waits for; what DNS does not tell in time is left out. */
export const suspensionsOf = async (
  { context, operatorOf, serversOf }: HttpDependencies,
  { recipients, environment }: ExistingMessage,
  now: string,
): Promise<ReadonlyMap<string, Suspension>> => {
  if (operatorOf === undefined || environment === 'test') return new Map();
  const { store, system } = context;

  const suspensionIn = async (name: string): Promise<Suspension | null> => {
    const { state } = await load(store, destination, destinationStream(name));
    return isSuspended(state, now) ? state.suspension : null;
  };

  const ofProvider = async (domain: string): Promise<Suspension | null> => {
    const suspension = await suspensionIn(await operatorOf(domain));
    const { addresses } = suspension ?? {};
    if (addresses === undefined || serversOf === undefined) return suspension;
    return isCovered(new Set(addresses), await serversOf(domain)) ? suspension : null;
  };

  const lookUp = async (domain: string): Promise<Found> => {
    const suspension = (await suspensionIn(ownDestination(domain))) ?? (await ofProvider(domain));
    return suspension === null ? [] : [[domain, suspension]];
  };
  const inTimeOrNothing = (domain: string): Promise<Found> =>
    withTimeout({ system, ms: LOOK_UP_MS_MAX }, lookUp(domain)).catch(() => []);

  const waitedFor = new Set(recipients.filter(({ status }) => isOpen(status)).map(({ domain }) => domain));
  return new Map((await Promise.all([...waitedFor].map(inTimeOrNothing))).flat());
};
