"""Model providers: which models exist, what they cost, and how they are called.

``model_registry.ProviderModels`` finds the endpoint of a model, ``model_client`` sends a request
with the provider's library (``sdk``) over the egress guard, ``reply_metadata`` reads the usage from
the response. ``llm_complete`` is the capability.
"""
