import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    // Only a hang takes this long, also on a machine with ten times the load.
    testTimeout: 120_000,
    hookTimeout: 240_000,
    // Tests mostly wait for engines, so this is twice the cores of a small machine.
    maxWorkers: 4,
    restoreMocks: true,
    // A test without assertions would pass whatever happens. What is polled may take long on a busy machine.
    expect: { requireAssertions: true, poll: { timeout: 30_000 } },
  },
});
