import { expect } from 'vitest';
import type { Service } from './service.ts';

export const HELLO = {
  name: 'Hello',
  subject: 'Hello {{ name }}',
  html: '<p>Hello <b>{{ name }}</b></p>',
  variables: [{ name: 'name', type: 'string', example: 'Ann' }],
};

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** Requests about templates with one key. */
export const openTemplates = (service: Service, key: string) => {
  let names = 0;
  const ask = async (method: Method, path: string, payload?: object, headers = {}) => {
    const body = payload === undefined ? {} : { payload };
    const answer = await service.request({ method, url: `/v1/templates${path}`, key, headers, ...body });
    return { status: answer.statusCode, headers: answer.headers, body: answer.body === '' ? null : answer.json() };
  };
  const publish = (alias: string) => ask('POST', `/${alias}/publish`);
  /** @returns its alias. */
  const make = async (content: object = {}): Promise<string> => {
    names += 1;
    const alias = `template-${names}`;
    expect((await ask('POST', '', { ...HELLO, ...content, alias })).status).toBe(201);
    return alias;
  };
  /** @returns the alias of a template with one version. */
  const makePublished = async (content: object = {}): Promise<string> => {
    const alias = await make(content);
    expect((await publish(alias)).body).toMatchObject({ version: 1 });
    return alias;
  };
  return { ask, publish, make, makePublished };
};

export type Templates = ReturnType<typeof openTemplates>;
