import { load } from '../../../commands/execute.ts';
import type { ExistingMessage } from '../../../domain/message/message.ts';
import { type Standing, standing, standingStream } from '../../../domain/reputation/standing.ts';
import type { HttpDependencies } from '../../dependencies.ts';

/** How the domain or organization stands now that recipients of a message were kept back for, by its id. */
export const standingsOf = async (
  { context: { store } }: HttpDependencies,
  { recipients }: ExistingMessage,
): Promise<ReadonlyMap<string, Standing>> => {
  const holders = [
    ...new Set(recipients.flatMap(({ held }) => (held?.reason === 'warm_up' ? [] : (held?.heldBy ?? [])))),
  ];
  const standings = holders.map(async (id) => [id, (await load(store, standing, standingStream(id))).state] as const);
  return new Map(await Promise.all(standings));
};
