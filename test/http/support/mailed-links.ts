import type { InjectOptions, LightMyRequestResponse } from 'fastify';
import { expect } from 'vitest';
import { LOG_START } from '../../../src/domain/kernel/event-store.ts';
import type { MessageBody } from '../../../src/domain/ports/contents.ts';
import type { Service } from './service.ts';
import { nextAddress, SAME_ORIGIN, signInWith } from './sign-in.ts';

interface Person {
  readonly id: string;
  readonly email: string;
  /** Link of the invitation. */
  readonly url: string;
}

interface Mail extends MessageBody {
  readonly url: string;
}

export interface MailedLinks {
  invite(): Promise<Person>;
  /** A member who has accepted the invitation. */
  join(): Promise<Person>;
  /** Creates a link that an owner passes on to a member. */
  handOver(person: Person): Promise<string>;
  ask(email: unknown, more?: InjectOptions): Promise<LightMyRequestResponse>;
  /** Mails to an address, oldest first. */
  mailsTo(email: string): Promise<readonly Mail[]>;
  /** Waits for `count` mails. @returns the last one. */
  mailed(email: string, count?: number): Promise<Mail>;
  /** Waits until every earlier request has been answered with a mail or rejected. */
  settle(): Promise<void>;
}

/** People who request links by mail. @param key of an administrator. */
export const openMailedLinks = (service: Service, key: string): MailedLinks => {
  let people = 0;

  const invite = async (): Promise<Person> => {
    people += 1;
    const email = `Person${people}@Example.net`;
    const answer = await service.request({
      method: 'POST',
      url: '/v1/members',
      key,
      payload: { email, role: 'owner' },
    });
    return { id: answer.json().id, email, url: answer.json().link.url };
  };

  /** A member who has accepted the invitation. */
  const join = async (): Promise<Person> => {
    const person = await invite();
    expect((await signInWith(service, person.url)).statusCode).toBe(200);
    return person;
  };

  const handOver = async ({ id }: Person): Promise<string> => {
    const made = await service.request({ method: 'POST', url: `/v1/members/${id}/links`, key, payload: {} });
    expect(made.statusCode, made.body).toBe(201);
    return made.json().url;
  };

  /** Waits for the mail of another person: requests are processed in order. */
  const settle = async (): Promise<void> => {
    const other = await join();
    await ask(other.email);
    await mailed(other.email);
  };

  const ask = (email: unknown, more: InjectOptions = {}) =>
    service.request({
      method: 'POST',
      url: '/v1/session/links',
      payload: { email },
      remoteAddress: nextAddress(),
      ...more,
      headers: { ...SAME_ORIGIN, ...more.headers },
    });

  /** Mails to an address, oldest first. */
  const mailsTo = async (email: string): Promise<readonly Mail[]> => {
    const { store, contents } = service.deps.context;
    const { events } = await store.readAll({ from: LOG_START, filter: {}, limit: 10_000 });
    const ids = events.flatMap((event) => (event.type === 'MessageAccepted' ? [event.data.contentId] : []));
    const bodies = await contents.get(ids);
    return ids.flatMap((id) => {
      const body = bodies.get(id);
      if (body?.kind !== 'message' || body.recipients[0]?.address.toLowerCase() !== email.toLowerCase()) return [];
      return [{ ...body, url: /https?:\/\/\S+/.exec(body.text ?? '')?.[0] ?? '' }];
    });
  };

  const mailed = async (email: string, count = 1): Promise<Mail> => {
    await expect.poll(async () => (await mailsTo(email)).length, { timeout: 10_000 }).toBe(count);
    return (await mailsTo(email)).at(-1) as Mail;
  };

  return { invite, join, handOver, ask, mailsTo, mailed, settle };
};
