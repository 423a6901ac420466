// All models that can be trained. A new one is a file here and a line below.
import { cnnModel } from "./cnn-model.ts";
import { gptModel } from "./gpt-model.ts";
import { llamaModel } from "./llama-model.ts";
import { loraModel } from "./lora-model.ts";
import { mlpModel } from "./mlp-model.ts";

export const MODELS = { cnn: cnnModel, gpt: gptModel, llama: llamaModel, lora: loraModel, mlp: mlpModel } as const;
