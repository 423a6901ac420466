// Hardhat as a node for development and nothing else: of our contracts it has heard nothing, like any node
// outside.
import { defineConfig } from "hardhat/config";

export default defineConfig({ paths: { artifacts: "build/bare-node/artifacts", cache: "build/bare-node/cache" } });
