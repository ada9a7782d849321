import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Tests mostly wait for engines, so this is twice the cores of a small machine.
    maxWorkers: 4,
    restoreMocks: true,
    // A test without assertions would pass whatever happens.
    expect: { requireAssertions: true },
  },
});
