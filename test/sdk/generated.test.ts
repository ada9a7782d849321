import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { apiFiles, type Document } from '../../sdk/generator/write-api.ts';
import { type Service, startService } from '../http/support/service.ts';

let service: Service;
let files: Readonly<Record<string, string>>;

beforeAll(async () => {
  service = await startService({ publicUrl: 'https://mail.outbox.test' }, () => undefined);
  files = apiFiles((await service.request({ url: '/openapi.json' })).json<Document>());
});
afterAll(() => service.close());

// `npx vitest run --config test/vitest.config.ts test/sdk/generated.test.ts --update` writes them.
describe('the SDK generated from /openapi.json', () => {
  test.each(['schemas.ts', 'resources.ts'])('is up to date in %s', async (name) => {
    const path = new URL(`../../sdk/src/api/${name}`, import.meta.url).pathname;
    await expect(files[name]).toMatchFileSnapshot(path);
  });

  test('gives no two operations of a resource the same name', () => {
    for (const [, body = ''] of (files['resources.ts'] ?? '').matchAll(/=> \(\{([\s\S]*?)\n\}\);/g)) {
      const names = [...body.matchAll(/^ {2}(\w+): \(/gm)].map(([, name]) => name);
      expect(names.length).toBeGreaterThan(0);
      expect(new Set(names).size).toBe(names.length);
    }
  });

  test('repeats no schema in another', () => {
    const interfaces = [...(files['schemas.ts'] ?? '').matchAll(/^export interface (\w+(?<!Query)) \{([\s\S]*?)^\}/gm)];
    expect(interfaces.length).toBeGreaterThan(50);
    const bodies = new Map<string, string>();
    const copies = interfaces.flatMap(([, name = '', body = '']) => {
      const first = bodies.get(body);
      bodies.set(body, first ?? name);
      return first === undefined || body.split('\n').length < 6 ? [] : [[first, name]];
    });
    expect(copies).toEqual([]);
    expect(files['schemas.ts']).toMatch(/^export interface GetKeyAnswer extends ApiKey \{/m);
  });
});
