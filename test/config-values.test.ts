import { describe, expect, test } from 'vitest';
import { readConfig } from '../src/config.ts';

describe('a configuration value', () => {
  test.each([
    ['192.0.2.1', { address: '192.0.2.1', port: 53 }],
    ['192.0.2.1:5353', { address: '192.0.2.1', port: 5353 }],
    ['2001:db8::1', { address: '2001:db8::1', port: 53 }],
    ['[2001:db8::1]', { address: '2001:db8::1', port: 53 }],
    ['[2001:db8::1]:5353', { address: '2001:db8::1', port: 5353 }],
  ])('accepts %s as a resolver', (given, server) => {
    expect(readConfig({ DNS_SERVERS: given }).dnsServers).toEqual([server]);
  });

  test.each(['dns.example.com', '192.0.2.1:', '192.0.2.1:0', '192.0.2.1:65536', '[192.0.2.1', '1.2.3', '192.0.2.1,x'])(
    'rejects %s as a resolver',
    (given) => {
      expect(() => readConfig({ DNS_SERVERS: given })).toThrow(/^DNS_SERVERS: set addresses/);
    },
  );

  test('is accepted up to its limit, however many digits that has', () => {
    expect(readConfig({ INBOUND_MAX_PER_MINUTE: '10000000' }).inboundMax).toBe(10_000_000);
    expect(() => readConfig({ INBOUND_MAX_PER_MINUTE: '10000001' })).toThrow('set a whole number from 1 to 10000000');
  });
});
