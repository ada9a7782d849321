import type { Backlog } from '../projections/deliveries/backlog.ts';
import type { ProjectionLag } from '../projections/progress.ts';

/** Problems with read models and waiting mail for the operator, without data of an organization. */

/** A read model further behind is not just busy. */
const LAG_SECONDS_MAX = 60;
/** The threshold of the alert in `docs/operations.md`: due mail leaves within seconds unless its destination limits it. */
const DUE_SECONDS_MAX = 300;

export const readModelProblems = (models: readonly ProjectionLag[]): readonly string[] =>
  models.flatMap(({ name, seconds, parkedEvents }) => [
    ...(seconds > LAG_SECONDS_MAX ? [`read model ${name} is ${Math.round(seconds)} s behind`] : []),
    ...(parkedEvents > 0
      ? [`read model ${name} has ${parkedEvents} parked events: \`npm run outbox -- projections retry-parked ${name}\``]
      : []),
  ]);

export const waitingProblems = ({ waiting, oldestDueSeconds, suspendedDestinations }: Backlog): readonly string[] => {
  const seconds = Math.round(oldestDueSeconds);
  return [
    ...(seconds > DUE_SECONDS_MAX
      ? [`${waiting.due} messages are due but were not sent, the oldest for ${seconds} s: see the log of the workers`]
      : []),
    ...(suspendedDestinations > 0
      ? [`${suspendedDestinations} destinations are suspended: \`GET /v1/destinations\` says why`]
      : []),
    ...(waiting.held > 0 ? [`${waiting.held} messages are held: \`GET /v1/messages/{id}/explain\` says why`] : []),
  ];
};
