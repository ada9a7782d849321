import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Most of what tests do is wait for engines: twice the cores of a small machine.
    maxWorkers: 4,
    restoreMocks: true,
    // A test that asserts nothing passes whatever happens.
    expect: { requireAssertions: true },
  },
});
