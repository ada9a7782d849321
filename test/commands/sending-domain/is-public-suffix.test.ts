import { expect, test } from 'vitest';
import { isPublicSuffix } from '../../../src/commands/sending-domain/change-domain.ts';

test.each(['com', 'co.uk', 'xn--fiqs8s', 'xn--55qx5d.cn', 'anything.ck', 'kawasaki.jp'])(
  '%s is a public suffix',
  (name) => expect(isPublicSuffix(name)).toBe(true),
);

test.each([
  ...[
    'example.com',
    'example.co.uk',
    'mail.example.co.uk',
    'xn--bcher-kva.xn--55qx5d.cn',
    'www.ck',
    'city.kawasaki.jp',
  ],
  ...['github.io', 'me.github.io', 'example.test', 'test', 'localhost', 'mail.internal'],
])('%s is not a public suffix', (name) => expect(isPublicSuffix(name)).toBe(false));
