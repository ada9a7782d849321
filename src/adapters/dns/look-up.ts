import { type DnsAnswer, ResolverUnavailable } from '../../domain/resolver.ts';
import type { Asking } from './ask-servers.ts';
import { BadReply } from './bad-reply.ts';
import { ALIASES_MAX } from './follow-aliases.ts';
import { isAskable, type Question } from './question.ts';
import { readAnswer } from './read-answer.ts';
import type { ReadRecord } from './records.ts';

/** An answer, and what remembering it is worth and costs. */
export interface LookedUp<Found> {
  readonly answer: DnsAnswer<Found>;
  /** As the records say. */
  readonly ttlSeconds: number;
  readonly bytes: number;
}

/** What two answers, of a name and of the alias it ended in, say together. */
const together = <Found>(first: LookedUp<Found>, then: LookedUp<Found>): LookedUp<Found> => ({
  answer: {
    ...then.answer,
    authenticated: first.answer.authenticated && then.answer.authenticated,
    aliases: [...first.answer.aliases, ...then.answer.aliases],
  },
  ttlSeconds: Math.min(first.ttlSeconds, then.ttlSeconds),
  bytes: first.bytes + then.bytes,
});

/** One question, asked again where an answer ends in an alias and does not say what that has. */
export const createLookUp = ({ ask }: Pick<Asking, 'ask'>) => {
  const follow = async <Found>(
    question: Question,
    read: ReadRecord<Found>,
    aliasesMax: number,
  ): Promise<LookedUp<Found>> => {
    const reply = await ask(question);
    const { answer, ttls, isOpen } = readAnswer(reply, question.name, read);
    const found = { answer, ttlSeconds: Math.min(...ttls), bytes: reply.bytes };
    const left = aliasesMax - answer.aliases.length;
    if (left < 0) throw new BadReply('it leads in a circle, or over too many aliases');
    const end = answer.aliases.at(-1);
    if (end === undefined || !isOpen) return found;
    if (!isAskable(end)) throw new BadReply('it is an alias of what is no name');
    return together(found, await follow({ ...question, name: end }, read, left));
  };

  /** @throws {ResolverUnavailable} */
  return async <Found>(question: Question, read: ReadRecord<Found>): Promise<LookedUp<Found>> => {
    try {
      return await follow(question, read, ALIASES_MAX);
    } catch (error) {
      if (!(error instanceof BadReply)) throw error;
      const { type, name } = question;
      throw new ResolverUnavailable(`DNS does not answer for ${type} ${name}: ${error.message}`, { cause: error });
    }
  };
};
